"""Tools of the garden."""

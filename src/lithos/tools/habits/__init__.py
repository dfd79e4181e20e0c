"""Tools of the habits: one cheap call before the mistake."""

"""Tools of the ledger."""

"""The catalogue of the vault: scanning, watching, identities, queries."""

"""The audit: events in an HMAC chain, their keys, queries and verification."""

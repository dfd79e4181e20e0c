"""Every mutation: the saga over files and rows, intents, idempotency."""

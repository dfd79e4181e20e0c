"""A collection: documents, filter fields, and the thread that indexes them."""

"""The graph: what Lithos knows of code, history and outside sources."""

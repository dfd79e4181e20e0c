"""Style: what a project says about its style, and what its files show."""

"""Claims about code: read from sentences, held against facts of the code graph."""

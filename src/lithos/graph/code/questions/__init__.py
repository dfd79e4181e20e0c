"""Questions about code: symbols and their neighbours, search, files, patterns."""

"""Resolution: from the names in one file to the symbols they mean, across files."""

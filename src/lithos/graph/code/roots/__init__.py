"""Which folders are read, and which of their files are indexed and served: roots, rule, globs, .gitignore, tree."""

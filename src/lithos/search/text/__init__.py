"""Full text: analyzers, query syntax, the tantivy index, snippets."""

"""A note as text: frontmatter, body, links, names."""

"""Notes: Markdown files with an identity, their links and their life."""

from lithos.notes.frontmatter import Frontmatter, parse_frontmatter

__all__ = ["Frontmatter", "parse_frontmatter"]

"""Design tokens: the values that a design system names, where they are defined, and raw values in their place."""

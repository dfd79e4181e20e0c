"""Every way to edit a text, without I/O."""

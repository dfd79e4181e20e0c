"""The vault: reading, writing, moving notes and their versions."""

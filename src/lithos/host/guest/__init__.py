"""The guest: pipes one client to the host. Standard library only."""

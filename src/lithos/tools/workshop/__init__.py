"""Tools of the workshop: worktrees, files in them, commands, and the way back into the project."""

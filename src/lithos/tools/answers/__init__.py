"""Answers as callers get them: errors, short forms, names of tools that they can follow."""

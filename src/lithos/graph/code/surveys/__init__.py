"""Surveys: other facts of a file than its symbols, read on demand in the parsing child. `what:language` names one."""

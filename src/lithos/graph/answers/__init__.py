"""Answers: from a question to cited evidence, at a fraction of the tokens of whole files."""

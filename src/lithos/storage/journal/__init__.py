"""Numbered changes of one topic, and those that wait for the next."""

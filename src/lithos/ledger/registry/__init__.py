"""The agents of a chain: names, status, keys, activity."""

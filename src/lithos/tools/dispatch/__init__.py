"""From a name and a JSON object to a checked call of a tool, without I/O."""

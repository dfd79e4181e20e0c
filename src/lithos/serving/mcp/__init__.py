"""The registry served over MCP."""

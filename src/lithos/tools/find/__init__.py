"""`lithos_tool_find` and `lithos_tool_call`: every tool for the price of two."""

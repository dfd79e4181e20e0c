"""Tools of the graph: edges, history, outside sources."""

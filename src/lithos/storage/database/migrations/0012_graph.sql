-- Edges that agents assert between nodes of the graph. The nodes are elsewhere: an end may be gone, and come back.
CREATE TABLE graph_edges (
    source_id {text} NOT NULL,
    target_id {text} NOT NULL,
    edge_type {integer} NOT NULL,
    weight {real} NOT NULL,
    reason {text} NOT NULL,
    agent {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (source_id, target_id, edge_type)
) {strict};
CREATE INDEX graph_edges_by_target ON graph_edges (target_id, edge_type);

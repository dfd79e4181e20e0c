-- Trust: verdicts on what was written, where knowledge came from, and contradictions between two pieces of it.
-- `evidence`: bits, 1 a person, 2 a commit, 4 a source that was read. `was_true_until`: when code stopped agreeing.
CREATE TABLE graph_checks (
    node_id {text} PRIMARY KEY,
    domain {integer} NOT NULL,
    text_hash {text} NOT NULL,
    evidence {integer} NOT NULL,
    verified {integer} NOT NULL,
    verification_type {integer} NOT NULL,
    confidence {real} NOT NULL,
    unchecked {integer} NOT NULL,
    needs_review {integer} NOT NULL,
    claims {text} NOT NULL,
    warnings {text} NOT NULL,
    checked_at {integer} NOT NULL,
    was_true_until {integer}
) {strict};
CREATE INDEX graph_checks_by_age ON graph_checks (checked_at);

CREATE TABLE graph_check_words (
    node_id {text} NOT NULL,
    word {text} NOT NULL,
    PRIMARY KEY (node_id, word)
) {strict};
CREATE INDEX graph_check_words_by_word ON graph_check_words (word);

CREATE TABLE graph_provenance (
    node_id {text} NOT NULL,
    source_type {integer} NOT NULL,
    source_node_id {text} NOT NULL,
    source_path {text} NOT NULL,
    source_url {text} NOT NULL,
    confidence {real} NOT NULL,
    verified_at {integer},
    PRIMARY KEY (node_id, source_type, source_node_id)
) {strict};

CREATE TABLE graph_conflicts (
    conflict_id {text} PRIMARY KEY,
    type {integer} NOT NULL,
    subject {text} NOT NULL,
    node_a {text} NOT NULL,
    node_b {text} NOT NULL,
    description {text} NOT NULL,
    resolution {text} NOT NULL,
    winner {text},
    reason {text},
    resolved {integer} NOT NULL DEFAULT 0,
    detected_at {integer} NOT NULL,
    resolved_at {integer},
    resolved_by {text},
    UNIQUE (node_a, node_b)
) {strict};
CREATE INDEX graph_conflicts_by_subject ON graph_conflicts (subject);
CREATE INDEX graph_conflicts_open ON graph_conflicts (detected_at) WHERE resolved = 0;
CREATE INDEX graph_conflicts_by_b ON graph_conflicts (node_b);

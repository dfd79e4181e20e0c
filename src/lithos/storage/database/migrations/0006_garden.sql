-- The garden: changes that were proposed, kept for some days.
CREATE TABLE proposals (
    id {text} PRIMARY KEY,
    at {integer} NOT NULL,
    agent {text},
    user_id {text},
    files {text} NOT NULL -- JSON: path, version before, text after, of each
) {strict};
CREATE INDEX proposals_by_time ON proposals (at);

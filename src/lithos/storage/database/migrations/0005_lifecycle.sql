-- The life of knowledge: what agents told of what they found, and what they were shown.
CREATE TABLE feedback (
    id {text} PRIMARY KEY,
    store {text} NOT NULL,
    at {integer} NOT NULL,
    agent {text},
    query {text} NOT NULL,
    outcome {text} NOT NULL CHECK (outcome IN ('helped', 'neutral', 'hurt', 'unknown')),
    source {text} NOT NULL CHECK (source IN ('invocation', 'manual_feedback')),
    returned_ids {text} NOT NULL,
    used_ids {text} NOT NULL
) {strict};
CREATE INDEX feedback_by_age ON feedback (store, at);

CREATE TABLE receipts (
    id {text} PRIMARY KEY,
    store {text} NOT NULL,
    at {integer} NOT NULL,
    query {text} NOT NULL,
    returned_ids {text} NOT NULL
) {strict};
CREATE INDEX receipts_by_age ON receipts (store, at);

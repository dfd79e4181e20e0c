-- Fewer trees and rows per message: `seq` is the key of the table, and the lease is part of the row. `taken_at` is the
-- newest delivery; earlier ones become hops when the message comes back. `era` is NULL without a lease.
CREATE TABLE new_messages (
    seq {integer} PRIMARY KEY,
    id {text} NOT NULL UNIQUE,
    correlation_id {text} NOT NULL,
    parent_id {text},
    session_id {text} NOT NULL DEFAULT '',
    source {text} NOT NULL,
    bound {integer} NOT NULL DEFAULT 0,
    person {integer} NOT NULL DEFAULT 0,
    target {text} NOT NULL DEFAULT '',
    topic {text} NOT NULL DEFAULT '',
    type {text} NOT NULL,
    bytes {integer} NOT NULL,
    sent_at {integer} NOT NULL,
    deadline {integer},
    ttl {integer} NOT NULL,
    ends_at {integer},
    paused_at {integer},
    status {text} NOT NULL
        CHECK (status IN ('queued', 'processing', 'completed', 'failed', 'expired', 'cancelled')),
    attempt {integer} NOT NULL DEFAULT 0,
    max_attempts {integer} NOT NULL,
    priority {integer} NOT NULL,
    lane {integer} NOT NULL,
    metadata {text},
    error {text},
    processed_at {integer},
    ready {integer} NOT NULL DEFAULT 0,
    due_at {integer} NOT NULL DEFAULT 0,
    depth {integer} NOT NULL DEFAULT 0,
    deaths {integer} NOT NULL DEFAULT 0,
    pipeline_id {text},
    taken_at {integer},
    host {text},
    expires_at {integer},
    era {text},
    until {real},
    grace {integer} NOT NULL DEFAULT 0,
    payload {text} NOT NULL
) {strict};
INSERT INTO new_messages (seq, id, correlation_id, parent_id, session_id, source, bound, person, target, topic, type,
        bytes, sent_at, deadline, ttl, ends_at, paused_at, status, attempt, max_attempts, priority, lane, metadata,
        error, processed_at, ready, due_at, depth, deaths, pipeline_id, host, expires_at, era, until, grace, payload)
    SELECT m.seq, m.id, m.correlation_id, m.parent_id, m.session_id, m.source, m.bound, m.person, m.target, m.topic,
        m.type, m.bytes, m.sent_at, m.deadline, m.ttl, m.ends_at, m.paused_at, m.status, m.attempt, m.max_attempts,
        m.priority, m.lane, m.metadata, m.error, m.processed_at, m.ready, m.due_at, m.depth, m.deaths, m.pipeline_id,
        lease.host, lease.expires_at, lease.era, lease.until, coalesce(lease.grace, 0), m.payload
    FROM messages AS m LEFT JOIN message_leases AS lease ON lease.message_id = m.id;
DROP TABLE message_leases;
DROP TABLE messages;
ALTER TABLE new_messages RENAME TO messages;
CREATE INDEX messages_ready ON messages (target, lane, session_id, seq) WHERE ready = 1;
CREATE INDEX messages_due ON messages (due_at) WHERE due_at > 0;
CREATE INDEX messages_ending ON messages (ends_at) WHERE status = 'queued' AND ends_at IS NOT NULL;
CREATE INDEX messages_leased ON messages (era, until) WHERE status = 'processing';
CREATE INDEX messages_by_correlation ON messages (correlation_id, target, seq);
CREATE INDEX messages_by_parent ON messages (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX messages_by_target ON messages (target, seq);
CREATE INDEX messages_by_session ON messages (session_id, seq) WHERE session_id <> '';
CREATE INDEX messages_settled ON messages (processed_at) WHERE processed_at IS NOT NULL;

-- The number of the pick that last served this lane; every eighth pick of a receiver serves its lowest lane.
ALTER TABLE message_lanes ADD COLUMN picked {integer} NOT NULL DEFAULT 0;

-- Messages between agents and people. `session_id` is '' where there is none; times are microseconds.
-- `ready`: a taker may have it now. `due_at`: delayed until then (0: not). `ends_at`: the earlier of deadline and ttl.
CREATE TABLE messages (
    id {text} PRIMARY KEY,
    seq {integer} NOT NULL UNIQUE,
    correlation_id {text} NOT NULL,
    parent_id {text},
    session_id {text} NOT NULL DEFAULT '',
    source {text} NOT NULL,
    bound {integer} NOT NULL DEFAULT 0,
    person {integer} NOT NULL DEFAULT 0,
    target {text} NOT NULL DEFAULT '',
    topic {text} NOT NULL DEFAULT '',
    type {text} NOT NULL,
    payload {text} NOT NULL,
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
    pipeline_id {text}
) {strict};
CREATE INDEX messages_ready ON messages (target, lane, session_id, seq) WHERE ready = 1;
CREATE INDEX messages_open ON messages (target, correlation_id, seq) WHERE status IN ('queued', 'processing');
CREATE INDEX messages_due ON messages (due_at) WHERE due_at > 0;
CREATE INDEX messages_ending ON messages (ends_at) WHERE status = 'queued' AND ends_at IS NOT NULL;
CREATE INDEX messages_by_correlation ON messages (correlation_id, seq);
CREATE INDEX messages_by_parent ON messages (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX messages_by_target ON messages (target, seq);
CREATE INDEX messages_by_source ON messages (source, seq);
CREATE INDEX messages_by_session ON messages (session_id, seq) WHERE session_id <> '';
CREATE INDEX messages_by_topic ON messages (topic, seq) WHERE topic <> '';
CREATE INDEX messages_settled ON messages (processed_at) WHERE processed_at IS NOT NULL;

-- `id` is the fencing token: the number of the journal entry that handed the message out. `host`: a worker of ours took it.
CREATE TABLE message_leases (
    id {integer} PRIMARY KEY,
    message_id {text} NOT NULL UNIQUE,
    taker {text} NOT NULL,
    host {text},
    expires_at {integer} NOT NULL,
    era {text} NOT NULL,
    until {real} NOT NULL,
    grace {integer} NOT NULL DEFAULT 0
) {strict};

-- How much waits, by receiver, lane and session, and whose turn it is: a take reads these few rows, never the queue.
CREATE TABLE message_lanes (
    target {text} NOT NULL,
    lane {integer} NOT NULL,
    session_id {text} NOT NULL,
    waiting {integer} NOT NULL DEFAULT 0,
    ready {integer} NOT NULL DEFAULT 0,
    served {integer} NOT NULL DEFAULT 0,
    credit {integer} NOT NULL DEFAULT 0,
    PRIMARY KEY (target, lane, session_id)
) {keyed};
CREATE INDEX message_lanes_by_session ON message_lanes (session_id) WHERE waiting > 0;

-- One row per name that sends or receives: its breaker, its turns, its sends in this minute.
CREATE TABLE message_agents (
    name {text} PRIMARY KEY,
    picks {integer} NOT NULL DEFAULT 0,
    minute {integer} NOT NULL DEFAULT 0,
    sent {integer} NOT NULL DEFAULT 0,
    failures {integer} NOT NULL DEFAULT 0,
    breaker {text} NOT NULL DEFAULT 'closed' CHECK (breaker IN ('closed', 'open', 'half_open')),
    opened_era {text} NOT NULL DEFAULT '',
    opened_steady {real} NOT NULL DEFAULT 0,
    probes {integer} NOT NULL DEFAULT 0,
    successes {integer} NOT NULL DEFAULT 0,
    ended_leases {integer} NOT NULL DEFAULT 0
) {strict};

CREATE TABLE message_dead_letters (
    message_id {text} PRIMARY KEY,
    reason {text} NOT NULL,
    error {text},
    at {integer} NOT NULL
) {strict};
CREATE INDEX message_dead_letters_by_time ON message_dead_letters (at);

CREATE TABLE message_hops (
    id {counter},
    message_id {text} NOT NULL,
    correlation_id {text} NOT NULL,
    source {text} NOT NULL,
    target {text} NOT NULL,
    what {text} NOT NULL,
    at {integer} NOT NULL,
    ms {integer} NOT NULL,
    payload {text}
) {strict};
CREATE INDEX message_hops_by_correlation ON message_hops (correlation_id, id);
CREATE INDEX message_hops_by_time ON message_hops (at);

CREATE TABLE message_hosts (
    host {text} PRIMARY KEY,
    era {text} NOT NULL,
    beat {real} NOT NULL
) {strict};

CREATE TABLE message_pipelines (
    id {text} PRIMARY KEY,
    closed_at {integer} NOT NULL
) {strict};

-- `sessions`: how far the journal of sessions has been followed (suspended and resumed sessions pause and go on).
CREATE TABLE message_cursors (
    name {text} PRIMARY KEY,
    seq {integer} NOT NULL
) {strict};

INSERT INTO journal_heads (topic, seq, era, steady) VALUES ('messages', 0, '', 0);
INSERT INTO message_cursors (name, seq) SELECT 'sessions', seq FROM journal_heads WHERE topic = 'sessions';

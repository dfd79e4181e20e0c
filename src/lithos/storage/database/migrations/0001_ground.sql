-- What every part stands on: agents, tokens, the audit, idempotency, and the intents of changes to files.

CREATE TABLE meta (
    name {text} PRIMARY KEY,
    value {text} NOT NULL
) {strict};

CREATE TABLE agents (
    id {text} PRIMARY KEY,
    name {text},
    type {text},
    metadata {text} NOT NULL DEFAULT '{}',
    first_seen_at {integer} NOT NULL,
    last_seen_at {integer} NOT NULL
) {strict};
CREATE INDEX agents_by_last_seen ON agents (last_seen_at);

CREATE TABLE tokens (
    id {text} PRIMARY KEY,
    name {text} NOT NULL,
    secret_hash {text} NOT NULL UNIQUE,
    scope {text} NOT NULL CHECK (scope IN ('read', 'full')),
    agent {text},
    created_at {integer} NOT NULL,
    last_used_at {integer},
    revoked_at {integer}
) {strict};

-- One row per event, as it stands now; event_chain holds how it came to that, and `position` is the newest link.
CREATE TABLE events (
    sequence {counter},
    id {text} NOT NULL UNIQUE,
    store {text} NOT NULL,
    position {integer} NOT NULL,
    at {integer} NOT NULL,
    updated_at {integer} NOT NULL,
    tool {text} NOT NULL,
    type {text} NOT NULL,
    op {text} NOT NULL,
    agent {text},
    user_id {text},
    thing {text} NOT NULL,
    path {text},
    section_anchor {text},
    before_hash {text},
    after_hash {text},
    status {text} NOT NULL CHECK (status IN ('pending', 'written', 'committed', 'failed', 'conflict')),
    rationale {text},
    lint {text},
    details {text} NOT NULL,
    error {text},
    tool_call_id {text},
    transaction_id {text},
    agent_action_id {text}
) {strict};
CREATE INDEX events_by_time ON events (at, sequence);
CREATE INDEX events_by_agent ON events (agent, at, sequence);
CREATE INDEX events_by_user ON events (user_id, at, sequence) WHERE user_id IS NOT NULL;
CREATE INDEX events_by_path ON events (path, at, sequence) WHERE path IS NOT NULL;
CREATE INDEX events_by_thing ON events (thing, at, sequence);
CREATE INDEX events_by_type ON events (type, at, sequence);
CREATE INDEX events_by_status ON events (status, at, sequence) WHERE status <> 'committed';
CREATE INDEX events_by_tool_call ON events (tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX events_by_transaction ON events (transaction_id) WHERE transaction_id IS NOT NULL;
CREATE INDEX events_by_agent_action ON events (agent_action_id) WHERE agent_action_id IS NOT NULL;

-- Append-only: one row per state that an event has had, each MAC over the one before. One chain per store
-- (data directory), so that several hosts on one database do not wait for each other.
CREATE TABLE event_chain (
    store {text} NOT NULL,
    position {integer} NOT NULL,
    previous {integer} NOT NULL, -- position of the same event's state before this one; 0: it is the first
    event_id {text} NOT NULL,
    status {text} NOT NULL,
    digest {text} NOT NULL,
    salt_version {integer} NOT NULL,
    mac {text} NOT NULL,
    PRIMARY KEY (store, position)
) {strict};

-- The end of each chain under a MAC of its own: without it the newest rows could be cut off unseen.
CREATE TABLE event_heads (
    store {text} PRIMARY KEY,
    length {integer} NOT NULL,
    mac {text} NOT NULL,
    salt_version {integer} NOT NULL,
    seal {text} NOT NULL
) {strict};

-- Which key a salt version meant, by fingerprint: a lost key is told apart from an altered row.
CREATE TABLE event_keys (
    store {text} NOT NULL,
    salt_version {integer} NOT NULL,
    fingerprint {text} NOT NULL,
    since {integer} NOT NULL,
    PRIMARY KEY (store, salt_version)
) {strict};

CREATE TABLE once (
    tool {text} NOT NULL,
    agent {text} NOT NULL,
    key {text} NOT NULL,
    arguments_hash {text} NOT NULL,
    answer {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (tool, agent, key)
) {strict};
CREATE INDEX once_by_time ON once (at);

CREATE TABLE deliveries (
    guest {text} NOT NULL,
    request {text} NOT NULL,
    tool {text} NOT NULL,
    arguments_hash {text} NOT NULL,
    answer {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (guest, request)
) {strict};
CREATE INDEX deliveries_by_time ON deliveries (at);

-- A change of files between its first and its last row; what is here at a start is settled by hashes.
CREATE TABLE intents (
    id {text} PRIMARY KEY,
    store {text} NOT NULL,
    at {integer} NOT NULL,
    tool {text} NOT NULL,
    agent {text} NOT NULL,
    key {text},
    call {text} NOT NULL,
    answer {text} NOT NULL
) {strict};
CREATE INDEX intents_by_store ON intents (store);
CREATE INDEX intents_by_key ON intents (tool, agent, key) WHERE key IS NOT NULL;

CREATE TABLE intent_changes (
    intent {text} NOT NULL REFERENCES intents (id) ON DELETE CASCADE,
    position {integer} NOT NULL,
    root {text} NOT NULL,
    path {text} NOT NULL,
    move_to {text},
    before_version {text},
    after_version {text},
    after_bytes {bytes},
    history {integer} NOT NULL,
    PRIMARY KEY (intent, position)
) {strict};

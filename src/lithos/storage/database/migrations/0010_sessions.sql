-- Sessions: one undertaking each. Lists of a session's context are rows, so that an update writes what it changes.
-- `era` and `steady` are the lease clock at the last activity; `bytes` bounds the context.
CREATE TABLE sessions (
    id {text} PRIMARY KEY,
    seq {integer} NOT NULL UNIQUE,
    name {text} NOT NULL,
    state {text} NOT NULL CHECK (state IN ('created', 'active', 'suspended', 'completed', 'failed')),
    owner {text} NOT NULL,
    owner_bound {integer} NOT NULL DEFAULT 0,
    created_at {integer} NOT NULL,
    activated_at {integer},
    suspended_at {integer},
    completed_at {integer},
    closed_at {integer},
    last_active_at {integer} NOT NULL,
    summary {text},
    reason {text},
    current_task {text},
    current_step {text},
    current_objective {text},
    conversation_id {text},
    active_dag_id {text},
    branch_name {text},
    base_branch {text},
    worktree {text},
    config {text} NOT NULL,
    version {integer} NOT NULL DEFAULT 0,
    bytes {integer} NOT NULL DEFAULT 0,
    era {text} NOT NULL,
    steady {real} NOT NULL
) {strict};
CREATE INDEX sessions_by_state ON sessions (state, seq);
CREATE INDEX sessions_not_closed ON sessions (seq) WHERE closed_at IS NULL;

CREATE TABLE session_items (
    session_id {text} NOT NULL REFERENCES sessions (id),
    field {text} NOT NULL,
    item {text} NOT NULL,
    position {integer} NOT NULL,
    value {text} NOT NULL,
    PRIMARY KEY (session_id, field, item)
) {keyed};

-- `here`: the agent's current session; an agent has one at most. `bound`: the membership is a token's.
CREATE TABLE session_agents (
    session_id {text} NOT NULL REFERENCES sessions (id),
    agent {text} NOT NULL,
    role {text} NOT NULL CHECK (role IN ('owner', 'member', 'invited')),
    bound {integer} NOT NULL DEFAULT 0,
    here {integer} NOT NULL DEFAULT 0,
    at {integer} NOT NULL,
    PRIMARY KEY (session_id, agent)
) {keyed};
CREATE UNIQUE INDEX session_agents_here ON session_agents (agent) WHERE here = 1;

-- A thought of a session that everyone may see; one row each, taken back by deleting it.
CREATE TABLE session_promotions (
    thought_id {text} PRIMARY KEY,
    store {text} NOT NULL,
    chain {text} NOT NULL,
    place {integer} NOT NULL,
    session_id {text} NOT NULL,
    reason {text} NOT NULL,
    agent {text},
    at {integer} NOT NULL
) {strict};
CREATE INDEX session_promotions_by_session ON session_promotions (session_id);

-- Who reported that an entry helped; one row per bound identity, so that one agent counts once.
CREATE TABLE session_uses (
    thought_id {text} NOT NULL,
    identity {text} NOT NULL,
    session_id {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (thought_id, identity)
) {keyed};

-- `id` is the fencing token: the number of the journal entry that made the lock.
CREATE TABLE file_locks (
    id {integer} PRIMARY KEY,
    path {text} NOT NULL,
    mode {text} NOT NULL CHECK (mode IN ('read', 'write')),
    session_id {text},
    agent {text} NOT NULL,
    taken_at {integer} NOT NULL,
    expires_at {integer} NOT NULL,
    era {text} NOT NULL,
    until {real} NOT NULL,
    grace {integer} NOT NULL DEFAULT 0,
    UNIQUE (path, agent)
) {strict};

-- The session that a claim was made in, whose limits hold, and the lease clock at that time.
ALTER TABLE claims ADD COLUMN session_id {text};
ALTER TABLE claims ADD COLUMN began {real};
CREATE INDEX claims_by_session ON claims (session_id) WHERE session_id IS NOT NULL;

INSERT INTO journal_heads (topic, seq, era, steady) VALUES ('sessions', 0, '', 0), ('files', 0, '', 0);

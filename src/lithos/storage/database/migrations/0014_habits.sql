-- Working notes of agents. `session_id` is '' outside any session, `agent` is '' for what a session shares;
-- `bound`: the agent came from a token, and only such a caller reads it.
CREATE TABLE scratchpad (
    session_id {text} NOT NULL,
    agent {text} NOT NULL,
    bound {integer} NOT NULL,
    key {text} NOT NULL,
    content {text} NOT NULL,
    created_at {integer} NOT NULL,
    updated_at {integer} NOT NULL,
    expires_at {integer},
    PRIMARY KEY (session_id, agent, bound, key)
) {keyed};

-- The private half of a checkpoint: the thought has the words, this row what only its agent may see.
CREATE TABLE task_checkpoints (
    thought_id {text} PRIMARY KEY,
    store {text} NOT NULL,
    place {integer} NOT NULL,
    session_id {text} NOT NULL,
    agent {text} NOT NULL,
    bound {integer} NOT NULL,
    task_id {text},
    scratchpad {text} NOT NULL,
    files {text} NOT NULL,
    claims {text} NOT NULL,
    at {integer} NOT NULL
) {strict};
CREATE INDEX task_checkpoints_by_agent ON task_checkpoints (agent, at);
CREATE INDEX task_checkpoints_by_session ON task_checkpoints (session_id, at);

-- Which thoughts of the chain `preferences` count, and who was behind them: tags of a thought are anybody's to write.
CREATE TABLE preference_updates (
    thought_id {text} PRIMARY KEY,
    store {text} NOT NULL,
    place {integer} NOT NULL,
    user_id {text} NOT NULL,
    session_id {text} NOT NULL,
    scope {text} NOT NULL CHECK (scope IN ('user', 'project', 'session')),
    category {text} NOT NULL,
    kind {text} NOT NULL CHECK (kind IN ('set', 'accepted', 'rejected')),
    agent {text},
    by_person {integer} NOT NULL,
    at {integer} NOT NULL
) {strict};
CREATE INDEX preference_updates_by_user ON preference_updates (user_id, place);

-- Who met a mistake, and what came of its warning: one row per agent and session, so that each counts once.
CREATE TABLE mistake_reports (
    thought_id {text} NOT NULL,
    agent {text} NOT NULL,
    session_id {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (thought_id, agent, session_id)
) {keyed};
CREATE TABLE mistake_outcomes (
    thought_id {text} NOT NULL,
    agent {text} NOT NULL,
    session_id {text} NOT NULL,
    outcome {text} NOT NULL CHECK (outcome IN ('avoided', 'happened', 'wrong')),
    at {integer} NOT NULL,
    PRIMARY KEY (thought_id, agent, session_id)
) {keyed};

-- Tokens that agents did not have to read again, by session and agent.
CREATE TABLE habit_savings (
    session_id {text} NOT NULL,
    agent {text} NOT NULL,
    reads {integer} NOT NULL,
    unchanged {integer} NOT NULL,
    hunks {integer} NOT NULL,
    tokens_saved {integer} NOT NULL,
    PRIMARY KEY (session_id, agent)
) {keyed};

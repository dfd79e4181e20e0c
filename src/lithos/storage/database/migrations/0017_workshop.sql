-- Worktrees of sessions. `store`: folders are local to a data directory. `pipeline` is '' for the session's own one.
-- `state`: opening and closing are intents, settled at the next start; removed: idle, and made again when it is needed.
CREATE TABLE worktrees (
    id {text} PRIMARY KEY,
    store {text} NOT NULL,
    session_id {text} NOT NULL,
    project {text} NOT NULL,
    pipeline {text} NOT NULL,
    after {text} NOT NULL,
    branch {text} NOT NULL,
    base {text} NOT NULL,
    base_commit {text} NOT NULL,
    state {text} NOT NULL CHECK (state IN ('opening', 'open', 'removed', 'merging', 'closing', 'closed')),
    created_at {integer} NOT NULL,
    used_at {integer} NOT NULL,
    closed_at {integer}
) {strict};
CREATE INDEX worktrees_by_session ON worktrees (session_id, created_at);
CREATE INDEX worktrees_by_state ON worktrees (store, state);

-- Files that agents read, made or changed through the workshop; the last time of each.
CREATE TABLE work_changes (
    worktree_id {text} NOT NULL,
    path {text} NOT NULL,
    kind {text} NOT NULL CHECK (kind IN ('read', 'created', 'modified', 'deleted')),
    version {text} NOT NULL,
    agent {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (worktree_id, path, kind)
) {keyed};

-- Commands, checks and tests. `answer` is what the caller got, without long output.
CREATE TABLE work_runs (
    id {text} PRIMARY KEY,
    store {text} NOT NULL,
    worktree_id {text} NOT NULL,
    session_id {text} NOT NULL,
    agent {text} NOT NULL,
    kind {text} NOT NULL,
    argv {text} NOT NULL,
    state {text} NOT NULL CHECK (state IN ('running', 'done', 'failed', 'lost')),
    started_at {integer} NOT NULL,
    ended_at {integer},
    answer {text}
) {strict};
CREATE INDEX work_runs_by_start ON work_runs (started_at);
CREATE INDEX work_runs_by_worktree ON work_runs (worktree_id, started_at);

-- A token of the scope `workshop` has the full scope, and may run commands.
ALTER TABLE tokens ADD COLUMN workshop {integer} NOT NULL DEFAULT 0;

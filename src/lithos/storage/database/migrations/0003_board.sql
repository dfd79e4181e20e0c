-- The board: §7 of the specification, with what leases, dependencies and waiting need besides.
-- Times are microseconds since 1970; `until` is a reading of the steady clock of `era`.
CREATE TABLE tasks (
    id {text} PRIMARY KEY,
    seq {integer} NOT NULL UNIQUE,
    title {text} NOT NULL,
    description {text},
    status {text} NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'completed', 'cancelled')),
    priority {integer} NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 4),
    open_blockers {integer} NOT NULL DEFAULT 0 CHECK (open_blockers >= 0),
    created_by {text} NOT NULL,
    created_at {integer} NOT NULL,
    updated_at {integer} NOT NULL,
    tags {text} NOT NULL DEFAULT '[]'
) {strict};
CREATE INDEX tasks_by_status ON tasks (status, seq);
CREATE INDEX tasks_that_can_be_taken ON tasks (status, open_blockers, priority, seq, id);

CREATE TABLE task_tags (
    tag {text} NOT NULL,
    task_id {text} NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (tag, task_id)
) {strict};
CREATE INDEX task_tags_by_task ON task_tags (task_id);

CREATE TABLE dependencies (
    task_id {text} NOT NULL REFERENCES tasks (id),
    depends_on {text} NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, depends_on)
) {strict};
CREATE INDEX dependencies_backwards ON dependencies (depends_on, task_id);

-- `id` is the fencing token: the number of the change that made the claim, never used twice.
CREATE TABLE claims (
    id {integer} PRIMARY KEY,
    task_id {text} NOT NULL REFERENCES tasks (id),
    agent {text} NOT NULL,
    aspect {text} NOT NULL,
    claimed_at {integer} NOT NULL,
    expires_at {integer} NOT NULL,
    era {text} NOT NULL,
    until {real} NOT NULL,
    grace {integer} NOT NULL DEFAULT 0,
    UNIQUE (task_id, aspect)
) {strict};

CREATE TABLE findings (
    id {text} PRIMARY KEY,
    seq {integer} NOT NULL UNIQUE,
    task_id {text} NOT NULL REFERENCES tasks (id),
    agent {text} NOT NULL,
    summary {text} NOT NULL,
    knowledge_id {text},
    created_at {integer} NOT NULL
) {strict};
CREATE INDEX findings_by_task ON findings (task_id, seq);
CREATE INDEX findings_by_note ON findings (knowledge_id, seq) WHERE knowledge_id IS NOT NULL;

CREATE TABLE board_changes (
    seq {integer} PRIMARY KEY,
    kind {text} NOT NULL,
    task_id {text} NOT NULL,
    aspect {text},
    agent {text} NOT NULL,
    at {integer} NOT NULL
) {strict};

-- One row: the counter, and the last reading of the clock, from which a reboot knows which leases had ended.
CREATE TABLE board_state (
    id {integer} PRIMARY KEY CHECK (id = 1),
    counter {integer} NOT NULL,
    era {text} NOT NULL,
    steady {real} NOT NULL
) {strict};
INSERT INTO board_state (id, counter, era, steady) VALUES (1, 0, '', 0);

-- Tools that discovery found in a project on a branch. `store`: folders are local to a data directory.
-- `watched`: stamps of the files and folders that it read; `facts`: what they said. One row per branch, replaced.
CREATE TABLE discovered_tools (
    store {text} NOT NULL,
    project {text} NOT NULL,
    branch {text} NOT NULL,
    config_hash {text} NOT NULL,
    watched {text} NOT NULL,
    facts {text} NOT NULL,
    session_id {text} NOT NULL,
    thought_id {text} NOT NULL,
    discovered_at {integer} NOT NULL,
    used_at {integer} NOT NULL,
    PRIMARY KEY (store, project, branch)
) {keyed};
CREATE INDEX discovered_tools_by_use ON discovered_tools (store, used_at);

-- The garden: changes that were proposed, and which files a change over several of them concerned.
CREATE TABLE proposals (
    id {text} PRIMARY KEY,
    at {integer} NOT NULL,
    agent {text},
    user_id {text},
    files {text} NOT NULL -- JSON: path, version before, text after, of each
) {strict};
CREATE INDEX proposals_by_time ON proposals (at);

-- An event has one path; this finds the events of the others. `thing` is the event's.
CREATE TABLE garden_paths (
    thing {text} NOT NULL,
    path {text} NOT NULL,
    PRIMARY KEY (thing, path)
) {strict};
CREATE INDEX garden_paths_by_path ON garden_paths (path);

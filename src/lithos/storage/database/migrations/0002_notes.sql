-- Which id a file of the vault is served under where its own bytes do not say, or name an id that another file has.
-- A renamed note without an id keeps the one it had; of two files with one id the first seen keeps it.
CREATE TABLE note_ids (
    store {text} NOT NULL,
    path {text} NOT NULL,
    id {text} NOT NULL,
    claimed {text},
    at {integer} NOT NULL,
    PRIMARY KEY (store, path)
) {strict};

-- Where a note was before it was moved, so that a link to its old name can be told from one that was always broken.
CREATE TABLE note_moves (
    store {text} NOT NULL,
    path {text} NOT NULL,
    id {text} NOT NULL,
    at {integer} NOT NULL,
    PRIMARY KEY (store, path)
) {strict};

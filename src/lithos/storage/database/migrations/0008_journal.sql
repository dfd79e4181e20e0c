-- One journal for every part that others follow: the board's moves here. `seq` counts per topic, in the order of the
-- commits; `details` is JSON. The owner of a topic inserts its row into journal_heads in its own migration.
CREATE TABLE journal (
    topic {text} NOT NULL,
    seq {integer} NOT NULL,
    kind {text} NOT NULL,
    subject {text} NOT NULL,
    agent {text} NOT NULL,
    at {integer} NOT NULL,
    details {text},
    PRIMARY KEY (topic, seq)
) {keyed};

-- The newest number, and the clock at that time: after a reboot it says which leases had ended.
CREATE TABLE journal_heads (
    topic {text} PRIMARY KEY,
    seq {integer} NOT NULL,
    era {text} NOT NULL,
    steady {real} NOT NULL
) {strict};
INSERT INTO journal_heads (topic, seq, era, steady) SELECT 'board', counter, era, steady FROM board_state;

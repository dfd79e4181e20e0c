-- A promotion serves one note: which, and a hash of the title and text that it had then.
CREATE TABLE promotion_uses (
    event_id {text} PRIMARY KEY,
    store {text} NOT NULL,
    note_id {text} NOT NULL,
    text_hash {text} NOT NULL,
    at {integer} NOT NULL
) {strict};

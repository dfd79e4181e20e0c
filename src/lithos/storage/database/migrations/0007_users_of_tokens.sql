-- A token may be bound to one user: only their files of the garden, only their events.
ALTER TABLE tokens ADD COLUMN user_id {text};

-- Sends of a minute are counted in the host, and turns in `message_lanes`.
ALTER TABLE message_agents DROP COLUMN picks;
ALTER TABLE message_agents DROP COLUMN minute;
ALTER TABLE message_agents DROP COLUMN sent;

-- Until when an agent has followed what others do: the end of its visit before this one, and what it confirmed.
ALTER TABLE agents ADD COLUMN visit_ended_at {integer};
ALTER TABLE agents ADD COLUMN confirmed {text};
ALTER TABLE agents ADD COLUMN confirmed_at {integer};

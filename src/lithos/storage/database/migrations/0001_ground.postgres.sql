-- Whoever owns the table (the service's role) reads and writes all of it; any other role that is allowed to read events
-- at all sees those of the user that bears its name, and can change none.
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY events_of_their_user ON events FOR SELECT USING (user_id = current_user::text);

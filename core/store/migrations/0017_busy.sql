-- What the people of a session chose for messages that come while a turn runs: queue, steer or interrupt; empty: nothing.
ALTER TABLE sessions ADD COLUMN busy TEXT NOT NULL DEFAULT '';

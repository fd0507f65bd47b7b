-- The files that came with a message of a chat, as JSON; empty: none. Their content stays with the platform until a turn fetches it.
ALTER TABLE inbox ADD COLUMN files TEXT NOT NULL DEFAULT '';
-- The file that a message to a chat is, as JSON: which copy in the home it is, and its name; empty: the message is its text.
ALTER TABLE outbox ADD COLUMN file TEXT NOT NULL DEFAULT '';

-- The buttons below a message to a chat, as JSON; empty: it has none.
ALTER TABLE outbox ADD COLUMN buttons TEXT NOT NULL DEFAULT '';

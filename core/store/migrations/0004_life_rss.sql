-- What a life kept resident at its last heartbeat, in bytes: what is left of one that was killed for its memory. 0: unknown.
ALTER TABLE lives ADD COLUMN rss INTEGER NOT NULL DEFAULT 0;

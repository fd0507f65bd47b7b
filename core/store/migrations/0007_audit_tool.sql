-- Whether a tool of the gateway asked, and the session that it belongs to. The process registry told it, not the caller.
ALTER TABLE audit ADD COLUMN tool INTEGER NOT NULL DEFAULT 0 CHECK (tool IN (0, 1));
ALTER TABLE audit ADD COLUMN session TEXT NOT NULL DEFAULT '';

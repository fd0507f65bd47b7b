-- What the calls of a turn cost, as for sessions. tokens_unpriced are those of calls whose cost is not known.
ALTER TABLE turns ADD COLUMN tokens_cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN tokens_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN cost INTEGER;
-- Whose message the turn works on, as its platform names them; empty: not known.
ALTER TABLE turns ADD COLUMN who TEXT NOT NULL DEFAULT '';
-- When the messages of the turn left what the model gets; null: they are in it.
ALTER TABLE turns ADD COLUMN undone_at INTEGER;

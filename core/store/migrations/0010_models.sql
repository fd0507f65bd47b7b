-- Which agent worked on a session last and which model answered, and the model that its people chose; empty: none. What its calls
-- cost is in billionths of a unit of money, null where that is not known; tokens_cached are those of tokens_in that came from caches.
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN model_choice TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN tokens_cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost INTEGER;

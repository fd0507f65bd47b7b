-- A conversation's title; empty: it has none yet.
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
-- Who wrote a user's message, as its platform names them; empty for other roles, and for messages of earlier versions.
ALTER TABLE messages ADD COLUMN who TEXT NOT NULL DEFAULT '';

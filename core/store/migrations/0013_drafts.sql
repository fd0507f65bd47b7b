-- How far a message to a chat has come: the message of the chat that becomes its first part, how many of its parts have
-- arrived, and whether an attempt began whose outcome is not known.
ALTER TABLE outbox ADD COLUMN placeholder TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN tried INTEGER NOT NULL DEFAULT 0 CHECK (tried IN (0, 1));

-- Messages that a chat shows while a turn runs: a draft of the answer, which becomes the answer, or the progress, which is
-- removed. id is that of the inbox message; message is the platform's, empty until it is known.
CREATE TABLE drafts (
    id      TEXT    NOT NULL PRIMARY KEY,
    session TEXT    NOT NULL,
    adapter TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    message TEXT    NOT NULL,
    becomes INTEGER NOT NULL CHECK (becomes IN (0, 1)),
    at      INTEGER
) STRICT, WITHOUT ROWID;

-- What stands for the older part of a session's conversation when a model is asked. The messages themselves stay.
CREATE TABLE compactions (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    upto       INTEGER NOT NULL, -- the messages up to this seq are replaced by summary and said
    pruned     INTEGER NOT NULL, -- the results of tools up to this seq are replaced by notes
    summary    TEXT    NOT NULL,
    said       TEXT    NOT NULL, -- JSON: what users wrote there, word for word
    at         INTEGER
) STRICT;

-- What a session's people want every model call of it to have.
CREATE TABLE pins (
    seq        INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    text       TEXT    NOT NULL,
    at         INTEGER
) STRICT;

CREATE INDEX pins_of_session ON pins (session_id);

-- How many tokens of the model's context the conversation uses, and how many that context has; 0: not known.
ALTER TABLE sessions ADD COLUMN context_used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN context_window INTEGER NOT NULL DEFAULT 0;

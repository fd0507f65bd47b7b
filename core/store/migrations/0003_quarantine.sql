-- Rows that cannot be true, as they were found: kept for a person, read by nothing.
CREATE TABLE quarantine (
    seq    INTEGER PRIMARY KEY,
    source TEXT    NOT NULL, -- the table that it was in
    row    TEXT    NOT NULL, -- its columns as JSON
    why    TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE INDEX quarantine_at ON quarantine (at);

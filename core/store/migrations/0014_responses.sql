-- Answers of the API that a later request may continue.
CREATE TABLE responses (
    id       TEXT    NOT NULL PRIMARY KEY,
    previous TEXT    NOT NULL, -- the answer that it continues; empty: none
    owner    TEXT    NOT NULL, -- names the caller, who alone may read it
    at       INTEGER NOT NULL,
    messages TEXT    NOT NULL, -- what this turn added to the conversation, as JSON
    body     TEXT    NOT NULL  -- the answer as the caller got it, as JSON
) STRICT;

CREATE INDEX responses_by_time ON responses (at);

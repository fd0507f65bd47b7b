-- The inbox: a chat's message from before its platform is told that it was taken until it has an answer.
CREATE TABLE inbox (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    dedupe  TEXT    UNIQUE, -- the platform's own name for it; null where there is none
    session TEXT    NOT NULL,
    adapter TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    at      INTEGER,
    state   TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'answered'))
) STRICT;

CREATE INDEX inbox_open ON inbox (seq) WHERE state <> 'answered';
CREATE INDEX inbox_answered ON inbox (at) WHERE state = 'answered';

-- The outbox: a message to a chat from before it is sent until the platform took it or will never take it.
CREATE TABLE outbox (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    session TEXT    NOT NULL,
    adapter TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    at      INTEGER,
    ended_at INTEGER,
    state   TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'refused')),
    reason  TEXT    NOT NULL
) STRICT;

CREATE INDEX outbox_open ON outbox (seq) WHERE state = 'waiting';
CREATE INDEX outbox_ended ON outbox (ended_at) WHERE state <> 'waiting';

-- In how many lives running a turn of the session was cut off by the gateway's own end.
ALTER TABLE sessions ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;

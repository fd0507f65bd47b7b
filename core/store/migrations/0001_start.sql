-- Times are microseconds since 1970 in UTC, null where there is none. seq is the order in which rows came: unlike a
-- clock it never goes back.

CREATE TABLE lives (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    pid          INTEGER NOT NULL,
    start_ticks  INTEGER NOT NULL,
    boot_id      TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    started_at   INTEGER,
    ended_at     INTEGER,
    heartbeat_at INTEGER,
    outcome      TEXT    NOT NULL,
    phase        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    by           TEXT    NOT NULL
) STRICT;

-- A session is one incarnation of a key. The row without ended_at is the key's current one.
CREATE TABLE sessions (
    seq              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    key              TEXT    NOT NULL,
    platform         TEXT    NOT NULL,
    user             TEXT    NOT NULL,
    target           TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    created_at       INTEGER,
    last_activity_at INTEGER,
    ended_at         INTEGER,
    end_reason       TEXT    NOT NULL,
    tokens_in        INTEGER NOT NULL,
    tokens_out       INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX sessions_current ON sessions (key) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_activity ON sessions (last_activity_at) WHERE ended_at IS NULL;
CREATE INDEX sessions_ended ON sessions (key, ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE turns (
    id         TEXT    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    life       TEXT    NOT NULL,
    started_at INTEGER,
    marked_at  INTEGER, -- when a stop recorded it as possibly interrupted
    ended_at   INTEGER,
    state      TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'interrupted')),
    reason     TEXT    NOT NULL,
    tokens_in  INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE state = 'running';

CREATE TABLE messages (
    seq          INTEGER PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions (id),
    turn_id      TEXT    NOT NULL REFERENCES turns (id),
    role         TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    tool_calls   TEXT, -- JSON
    tool_call_id TEXT    NOT NULL,
    at           INTEGER
) STRICT;

CREATE INDEX messages_of_session ON messages (session_id);

CREATE TABLE processes (
    life        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot_id     TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    command     TEXT    NOT NULL,
    policy      TEXT    NOT NULL,
    started_at  INTEGER,
    ended_at    INTEGER,
    how         TEXT    NOT NULL,
    PRIMARY KEY (life, pid, start_ticks)
) STRICT, WITHOUT ROWID;

CREATE INDEX processes_live ON processes (started_at) WHERE ended_at IS NULL;

CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY,
    id     TEXT    NOT NULL UNIQUE,
    at     INTEGER,
    verb   TEXT    NOT NULL,
    target TEXT    NOT NULL,
    via    TEXT    NOT NULL,
    uid    INTEGER NOT NULL,
    pid    INTEGER NOT NULL,
    tty    TEXT    NOT NULL,
    user   TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    state  TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;

CREATE TABLE shutdowns (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    life   TEXT NOT NULL,
    report TEXT NOT NULL -- an ops.Shutdown as JSON
) STRICT;

CREATE INDEX shutdowns_of_life ON shutdowns (life);

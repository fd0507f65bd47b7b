-- What runs at a time. Jobs of the config are written when they are first seen, so that what became of them outlives the gateway.
CREATE TABLE jobs (
    name        TEXT    NOT NULL PRIMARY KEY,
    source      TEXT    NOT NULL, -- config, chat, tool
    owner       TEXT    NOT NULL, -- who made it: telegram:4711; empty: the config
    schedule    TEXT    NOT NULL,
    zone        TEXT    NOT NULL,
    prompt      TEXT    NOT NULL,
    agent       TEXT    NOT NULL, -- empty: the routes of the config say which
    deliver     TEXT    NOT NULL, -- the session key of the chat that gets the answers; empty: none does
    target      TEXT    NOT NULL, -- the platform's address of that chat
    missed      TEXT    NOT NULL, -- once, skip
    allow       TEXT    NOT NULL, -- JSON: the commands that it may run without a person
    paused      INTEGER NOT NULL,
    made_at     INTEGER,          -- intervals count from here
    next_at     INTEGER,          -- null: it is never due again
    last_at     INTEGER,
    last_result TEXT    NOT NULL DEFAULT '', -- that of the last run
    last_reason TEXT    NOT NULL DEFAULT '',
    failures    INTEGER NOT NULL DEFAULT 0   -- so many runs have failed in a row
) STRICT, WITHOUT ROWID;

-- A run of a job, or a time of its schedule at which it did not run.
CREATE TABLE job_runs (
    id         TEXT    NOT NULL PRIMARY KEY,
    job        TEXT    NOT NULL,
    due_at     INTEGER,
    started_at INTEGER, -- null: it did not run
    ended_at   INTEGER,
    result     TEXT    NOT NULL, -- running, done, failed, interrupted, skipped
    reason     TEXT    NOT NULL DEFAULT '',
    times      INTEGER NOT NULL DEFAULT 1, -- how many times of the schedule the row stands for
    by         TEXT    NOT NULL DEFAULT '' -- who asked for the run; empty: its schedule
) STRICT, WITHOUT ROWID;
CREATE INDEX job_runs_of ON job_runs (job, id);
CREATE INDEX job_runs_running ON job_runs (id) WHERE result = 'running';

-- table approval_rules on approval_rules
CREATE TABLE approval_rules (
    id          TEXT    NOT NULL PRIMARY KEY,
    agent       TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    folder      TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    rule        TEXT    NOT NULL, -- a program with its subcommand, or all of a command
    whole       INTEGER NOT NULL, -- 1: rule is all of a command
    session     TEXT    NOT NULL, -- the key of the session that asked
    approval    TEXT    NOT NULL, -- the id of its request
    by          TEXT    NOT NULL,
    at          INTEGER,
    expires_at  INTEGER
) STRICT, WITHOUT ROWID;

-- table approvals on approvals
CREATE TABLE approvals (
    id          TEXT    NOT NULL PRIMARY KEY,
    session     TEXT    NOT NULL, -- its key
    session_id  TEXT    NOT NULL,
    turn        TEXT    NOT NULL,
    agent       TEXT    NOT NULL, -- the name of the definition
    who         TEXT    NOT NULL, -- wrote the message of the turn; empty: not known
    kind        TEXT    NOT NULL, -- command, write, host, tool, stop
    command     TEXT    NOT NULL, -- the bytes that are run, or what is asked for
    input_of    TEXT    NOT NULL, -- the command that reads it as its input; empty: it is the command
    folder      TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    reasons     TEXT    NOT NULL, -- JSON
    asked_at    INTEGER,
    expires_at  INTEGER,
    state       TEXT    NOT NULL, -- waiting, allowed, denied, expired, withdrawn, refused
    scope       TEXT    NOT NULL DEFAULT '', -- once, turn, session, always
    by          TEXT    NOT NULL DEFAULT '', -- who answered
    reason      TEXT    NOT NULL DEFAULT '', -- why it ended so
    ended_at    INTEGER,
    card_chat   TEXT    NOT NULL DEFAULT '', -- the session key of the chat that shows it; empty: none does
    card_target TEXT    NOT NULL DEFAULT '', -- the platform's address of that chat
    card        TEXT    NOT NULL DEFAULT ''  -- the platform's name of the message; empty: not known
) STRICT, WITHOUT ROWID;

-- index approvals_ended on approvals
CREATE INDEX approvals_ended ON approvals (ended_at) WHERE ended_at IS NOT NULL;

-- index approvals_waiting on approvals
CREATE INDEX approvals_waiting ON approvals (asked_at) WHERE state = 'waiting';

-- table audit on audit
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
, tool INTEGER NOT NULL DEFAULT 0 CHECK (tool IN (0, 1)), session TEXT NOT NULL DEFAULT '') STRICT;

-- index audit_at on audit
CREATE INDEX audit_at ON audit (at);

-- table budget_notices on budget_notices
CREATE TABLE budget_notices (
    seq     INTEGER PRIMARY KEY,
    budget  TEXT    NOT NULL,
    window  TEXT    NOT NULL, -- day, month, tokens, session, person, job
    period  TEXT    NOT NULL, -- which day, month, conversation, person or run
    percent INTEGER NOT NULL,
    at      INTEGER,
    text    TEXT    NOT NULL
) STRICT;

-- index budget_notices_once on budget_notices
CREATE UNIQUE INDEX budget_notices_once ON budget_notices (budget, window, period, percent);

-- table budget_raises on budget_raises
CREATE TABLE budget_raises (
    seq    INTEGER PRIMARY KEY,
    budget TEXT    NOT NULL,
    money  INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    until  INTEGER,
    at     INTEGER,
    by     TEXT    NOT NULL
) STRICT;

-- table compactions on compactions
CREATE TABLE compactions (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    upto       INTEGER NOT NULL, -- the messages up to this seq are replaced by summary and said
    pruned     INTEGER NOT NULL, -- the results of tools up to this seq are replaced by notes
    summary    TEXT    NOT NULL,
    said       TEXT    NOT NULL, -- JSON: what users wrote there, word for word
    at         INTEGER
) STRICT;

-- table drafts on drafts
CREATE TABLE drafts (
    id      TEXT    NOT NULL PRIMARY KEY,
    session TEXT    NOT NULL,
    adapter TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    message TEXT    NOT NULL,
    becomes INTEGER NOT NULL CHECK (becomes IN (0, 1)),
    at      INTEGER
) STRICT, WITHOUT ROWID;

-- table environments on environments
CREATE TABLE environments (
    id      TEXT    NOT NULL PRIMARY KEY,
    kind    TEXT    NOT NULL,
    name    TEXT    NOT NULL, -- of the config
    session TEXT    NOT NULL,
    program TEXT    NOT NULL,
    life    TEXT    NOT NULL,
    at      INTEGER,
    made    INTEGER NOT NULL CHECK (made IN (0, 1))
) STRICT, WITHOUT ROWID;

-- table external_sessions on external_sessions
CREATE TABLE external_sessions (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent      TEXT    NOT NULL, -- of the config
    id         TEXT    NOT NULL,
    at         INTEGER,
    PRIMARY KEY (session_id, agent)
) STRICT, WITHOUT ROWID;

-- table forgetting on forgetting
CREATE TABLE forgetting (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL, -- the platform's own id of the person
    at       INTEGER NOT NULL,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;

-- table inbox on inbox
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
, files TEXT NOT NULL DEFAULT '') STRICT;

-- index inbox_answered on inbox
CREATE INDEX inbox_answered ON inbox (at) WHERE state = 'answered';

-- index inbox_open on inbox
CREATE INDEX inbox_open ON inbox (seq) WHERE state <> 'answered';

-- table job_runs on job_runs
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

-- index job_runs_of on job_runs
CREATE INDEX job_runs_of ON job_runs (job, id);

-- index job_runs_running on job_runs
CREATE INDEX job_runs_running ON job_runs (id) WHERE result = 'running';

-- table jobs on jobs
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

-- table lives on lives
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
, rss INTEGER NOT NULL DEFAULT 0, clock_doubted INTEGER NOT NULL DEFAULT 0) STRICT;

-- table messages on messages
CREATE TABLE messages (
    seq          INTEGER PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions (id),
    turn_id      TEXT    NOT NULL REFERENCES turns (id),
    role         TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    tool_calls   TEXT, -- JSON
    tool_call_id TEXT    NOT NULL,
    at           INTEGER
, who TEXT NOT NULL DEFAULT '') STRICT;

-- index messages_of_session on messages
CREATE INDEX messages_of_session ON messages (session_id);

-- index messages_of_turn on messages
CREATE INDEX messages_of_turn ON messages (turn_id);

-- table note_words on note_words
CREATE TABLE note_words (
    owner TEXT    NOT NULL,
    word  TEXT    NOT NULL,
    seq   INTEGER NOT NULL, -- of the note
    PRIMARY KEY (owner, word, seq)
) STRICT, WITHOUT ROWID;

-- table notes on notes
CREATE TABLE notes (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never used again: people delete notes by it
    owner  TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    words  TEXT    NOT NULL, -- those in note_words, as a JSON list
    by     TEXT    NOT NULL, -- how it came: tool, flush, review, import
    people TEXT    NOT NULL,
    at     INTEGER,          -- when it was made or last changed
    pinned INTEGER NOT NULL DEFAULT 0
) STRICT;

-- index notes_of_owner on notes
CREATE INDEX notes_of_owner ON notes (owner, pinned, seq);

-- table outbox on outbox
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
, placeholder TEXT NOT NULL DEFAULT '', parts INTEGER NOT NULL DEFAULT 0, tried INTEGER NOT NULL DEFAULT 0 CHECK (tried IN (0, 1)), file TEXT NOT NULL DEFAULT '', buttons TEXT NOT NULL DEFAULT '') STRICT;

-- index outbox_ended on outbox
CREATE INDEX outbox_ended ON outbox (ended_at) WHERE state <> 'waiting';

-- index outbox_open on outbox
CREATE INDEX outbox_open ON outbox (seq) WHERE state = 'waiting';

-- table pairing_misses on pairing_misses
CREATE TABLE pairing_misses (
    seq INTEGER PRIMARY KEY,
    at  INTEGER
) STRICT;

-- table pairings on pairings
CREATE TABLE pairings (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    code     TEXT    NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('told', 'open', 'used')),
    asked    INTEGER,
    expires  INTEGER,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;

-- table people on people
CREATE TABLE people (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL, -- the platform's own id of the person
    role     TEXT    NOT NULL CHECK (role IN ('owner', 'member', 'guest', '')),
    state    TEXT    NOT NULL CHECK (state IN ('allowed', 'blocked')),
    source   TEXT    NOT NULL CHECK (source IN ('pairing', 'verb')),
    by       TEXT    NOT NULL, -- who said so, as the audit has it
    name     TEXT    NOT NULL, -- what the person was called then
    at       INTEGER,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;

-- table pins on pins
CREATE TABLE pins (
    seq        INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    text       TEXT    NOT NULL,
    at         INTEGER
) STRICT;

-- index pins_of_session on pins
CREATE INDEX pins_of_session ON pins (session_id);

-- table processes on processes
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

-- index processes_ended on processes
CREATE INDEX processes_ended ON processes (ended_at) WHERE ended_at IS NOT NULL;

-- index processes_live on processes
CREATE INDEX processes_live ON processes (started_at) WHERE ended_at IS NULL;

-- table quarantine on quarantine
CREATE TABLE quarantine (
    seq    INTEGER PRIMARY KEY,
    source TEXT    NOT NULL, -- the table that it was in
    row    TEXT    NOT NULL, -- its columns as JSON
    why    TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- index quarantine_at on quarantine
CREATE INDEX quarantine_at ON quarantine (at);

-- table responses on responses
CREATE TABLE responses (
    id       TEXT    NOT NULL PRIMARY KEY,
    previous TEXT    NOT NULL, -- the answer that it continues; empty: none
    owner    TEXT    NOT NULL, -- names the caller, who alone may read it
    at       INTEGER NOT NULL,
    messages TEXT    NOT NULL, -- what this turn added to the conversation, as JSON
    body     TEXT    NOT NULL  -- the answer as the caller got it, as JSON
) STRICT;

-- index responses_by_time on responses
CREATE INDEX responses_by_time ON responses (at);

-- table sessions on sessions
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
, cut INTEGER NOT NULL DEFAULT 0, caller_by TEXT NOT NULL DEFAULT '', caller_uid INTEGER NOT NULL DEFAULT 0, agent TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '', model_choice TEXT NOT NULL DEFAULT '', tokens_cached INTEGER NOT NULL DEFAULT 0, cost INTEGER, context_used INTEGER NOT NULL DEFAULT 0, context_window INTEGER NOT NULL DEFAULT 0, title TEXT NOT NULL DEFAULT '', busy TEXT NOT NULL DEFAULT '') STRICT;

-- index sessions_by_activity on sessions
CREATE INDEX sessions_by_activity ON sessions (last_activity_at) WHERE ended_at IS NULL;

-- index sessions_by_end on sessions
CREATE INDEX sessions_by_end ON sessions (ended_at) WHERE ended_at IS NOT NULL;

-- index sessions_current on sessions
CREATE UNIQUE INDEX sessions_current ON sessions (key) WHERE ended_at IS NULL;

-- index sessions_ended on sessions
CREATE INDEX sessions_ended ON sessions (key, ended_at) WHERE ended_at IS NOT NULL;

-- table shutdowns on shutdowns
CREATE TABLE shutdowns (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    life   TEXT NOT NULL,
    report TEXT NOT NULL -- an ops.Shutdown as JSON
) STRICT;

-- index shutdowns_of_life on shutdowns
CREATE INDEX shutdowns_of_life ON shutdowns (life);

-- table timelines on timelines
CREATE TABLE timelines (
    turn_id TEXT    NOT NULL PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    at      INTEGER, -- when the turn ended
    record  TEXT    NOT NULL
) STRICT;

-- table turns on turns
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
, tokens_cached INTEGER NOT NULL DEFAULT 0, tokens_unpriced INTEGER NOT NULL DEFAULT 0, cost INTEGER, who TEXT NOT NULL DEFAULT '', undone_at INTEGER, reserved TEXT, charged INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

-- index turns_of_session on turns
CREATE INDEX turns_of_session ON turns (session_id);

-- index turns_reserved on turns
CREATE INDEX turns_reserved ON turns (id) WHERE reserved IS NOT NULL;

-- index turns_running on turns
CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE state = 'running';

-- table unflushed on unflushed
CREATE TABLE unflushed (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    after      INTEGER NOT NULL, -- the number of the last message that the provider has
    life       TEXT    NOT NULL, -- the run of the gateway that wrote the row
    since      INTEGER,
    tries      INTEGER NOT NULL DEFAULT 0, -- flushes that failed
    tried_at   INTEGER,
    reason     TEXT    NOT NULL DEFAULT '' -- why the last one failed
) STRICT;

-- table usage on usage
CREATE TABLE usage (
    seq             INTEGER PRIMARY KEY,
    day             TEXT    NOT NULL, -- 2026-11-22
    budget          TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    person          TEXT    NOT NULL, -- telegram:4711
    session         TEXT    NOT NULL, -- the id of the conversation
    job             TEXT    NOT NULL, -- the run of a job
    calls           INTEGER NOT NULL,
    tokens_in       INTEGER NOT NULL,
    tokens_out      INTEGER NOT NULL,
    tokens_cached   INTEGER NOT NULL,
    tokens_unpriced INTEGER NOT NULL, -- those of calls whose cost is not known
    cost            INTEGER NOT NULL,
    priced          INTEGER NOT NULL, -- the number of calls whose cost is known
    estimated       INTEGER NOT NULL  -- the number of calls that are counted by an estimate
) STRICT;

-- index usage_by_day on usage
CREATE UNIQUE INDEX usage_by_day ON usage (day, budget, agent, model, person, session, job);

-- index usage_of_job on usage
CREATE INDEX usage_of_job ON usage (job) WHERE job <> '';

-- index usage_of_session on usage
CREATE INDEX usage_of_session ON usage (session) WHERE session <> '';


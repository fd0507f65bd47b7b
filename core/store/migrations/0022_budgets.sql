-- What the calls of models used, in the day of the budget's zone. Money is in billionths. A row is for all calls that have its
-- first seven columns in common; empty: none, or a person or a conversation whose data was deleted.
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

CREATE UNIQUE INDEX usage_by_day ON usage (day, budget, agent, model, person, session, job);

CREATE INDEX usage_of_session ON usage (session) WHERE session <> '';

CREATE INDEX usage_of_job ON usage (job) WHERE job <> '';

-- What has been said about a budget in a window: that a part of it was used, in percent. It is said once.
CREATE TABLE budget_notices (
    seq     INTEGER PRIMARY KEY,
    budget  TEXT    NOT NULL,
    window  TEXT    NOT NULL, -- day, month, tokens, session, person, job
    period  TEXT    NOT NULL, -- which day, month, conversation, person or run
    percent INTEGER NOT NULL,
    at      INTEGER,
    text    TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX budget_notices_once ON budget_notices (budget, window, period, percent);

-- A budget that was lifted for a time: by an amount of money, or of tokens a day.
CREATE TABLE budget_raises (
    seq    INTEGER PRIMARY KEY,
    budget TEXT    NOT NULL,
    money  INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    until  INTEGER,
    at     INTEGER,
    by     TEXT    NOT NULL
) STRICT;

-- What the next model call of a turn may use, as JSON; null: no call was announced. A turn that is cut off is charged it.
-- charged is the number of the last charge of the turn that was written.
ALTER TABLE turns ADD COLUMN reserved TEXT;
ALTER TABLE turns ADD COLUMN charged INTEGER NOT NULL DEFAULT 0;

CREATE INDEX turns_reserved ON turns (id) WHERE reserved IS NOT NULL;

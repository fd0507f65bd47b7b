-- What a tool asked a person for. A row is never changed again once its state is not waiting.
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
CREATE INDEX approvals_waiting ON approvals (asked_at) WHERE state = 'waiting';
CREATE INDEX approvals_ended ON approvals (ended_at) WHERE ended_at IS NOT NULL;

-- What runs without a question, because a person answered "always".
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

-- Who may speak besides those whom the config names, and who may not though it does.
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

-- Unknown users who wrote: each heard how to be let in, or has a code. code is a salt and a hash, empty for one who has none.
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

-- When a code was given that there is not.
CREATE TABLE pairing_misses (
    seq INTEGER PRIMARY KEY,
    at  INTEGER
) STRICT;

-- Environments that may exist outside of the gateway's processes, such as containers. A row is written before the environment
-- is made, and goes when it is known to be removed. made says that its start was not cut off.
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

-- What turns did: their calls with times and costs, as JSON of package timeline. A row is written with the end of its turn, and kept for
-- store.Retention; turns of earlier versions have none.
CREATE TABLE timelines (
    turn_id TEXT    NOT NULL PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    at      INTEGER, -- when the turn ended
    record  TEXT    NOT NULL
) STRICT;

-- People whose data is being deleted: what is from before at. A row goes when all of it is gone.
CREATE TABLE forgetting (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL, -- the platform's own id of the person
    at       INTEGER NOT NULL,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;

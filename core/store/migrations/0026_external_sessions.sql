-- The name that an external agent gave its own session of a conversation. With it the next program of the agent takes the session up again.
CREATE TABLE external_sessions (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent      TEXT    NOT NULL, -- of the config
    id         TEXT    NOT NULL,
    at         INTEGER,
    PRIMARY KEY (session_id, agent)
) STRICT, WITHOUT ROWID;

-- Rows that cannot be true, as they were found: kept for a person, read by nothing.
CREATE TABLE quarantine (
    seq    INTEGER PRIMARY KEY,
    source TEXT    NOT NULL, -- the table that it was in
    row    TEXT    NOT NULL, -- its columns as JSON
    why    TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE INDEX quarantine_at ON quarantine (at);

-- What refers to a row that is deleted is found along an index, and so is what is old: without these retention would read
-- whole tables while everybody waits for the writer.
CREATE INDEX messages_of_turn ON messages (turn_id);
CREATE INDEX turns_of_session ON turns (session_id);
CREATE INDEX sessions_by_end ON sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX processes_ended ON processes (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX audit_at ON audit (at);

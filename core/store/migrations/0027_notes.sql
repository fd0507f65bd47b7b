-- Notes that outlive conversations (HR4). owner says whose a note is: 'person telegram:4711', 'chat telegram:group:-42' or 'shared'.
-- people are the people whose words it may have, with a space before and after each: a note goes with any of them that is forgotten.
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

CREATE INDEX notes_of_owner ON notes (owner, pinned, seq);

-- The words by which notes are found. The key begins with the owner, so that a search reads nothing of other owners.
CREATE TABLE note_words (
    owner TEXT    NOT NULL,
    word  TEXT    NOT NULL,
    seq   INTEGER NOT NULL, -- of the note
    PRIMARY KEY (owner, word, seq)
) STRICT, WITHOUT ROWID;

-- Conversations with messages that the memory's provider has not had yet (HR5). A row is written with the turn that begins, and
-- deleted when the provider has all of them.
CREATE TABLE unflushed (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    after      INTEGER NOT NULL, -- the number of the last message that the provider has
    life       TEXT    NOT NULL, -- the run of the gateway that wrote the row
    since      INTEGER,
    tries      INTEGER NOT NULL DEFAULT 0, -- flushes that failed
    tried_at   INTEGER,
    reason     TEXT    NOT NULL DEFAULT '' -- why the last one failed
) STRICT;

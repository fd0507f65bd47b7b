-- Who sent a session's last message over the API (HF1): how the caller was let in, kernel or key, empty for a session without
-- one, and its uid, -1 if that was not known. Without caller_by the uid means nothing.
ALTER TABLE sessions ADD COLUMN caller_by TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN caller_uid INTEGER NOT NULL DEFAULT 0;

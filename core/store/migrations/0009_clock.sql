-- Whether the wall clock of a life disagreed with the lives before it: its times are no measure for the next one. 0: no.
ALTER TABLE lives ADD COLUMN clock_doubted INTEGER NOT NULL DEFAULT 0;

-- What the model is shown in place of a part of the history. The history itself stays as it is.

-- A row counts while its turn is in view and the history still begins with the messages that it was made over:
-- `messages` of them, the last one being `last_message`. Of those that count, the newest is in effect.
CREATE TABLE compactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,                   -- in which it was made
    number INTEGER NOT NULL,                 -- counts those of the turn from 0
    messages INTEGER NOT NULL,
    last_message INTEGER NOT NULL,           -- no reference: what was saved from a damaged database may lack it
    body ANY NOT NULL,                       -- JSON as text; compressed where it is long
    created_at REAL NOT NULL,
    UNIQUE (session_id, turn, number)
) STRICT;

-- What files were before they were changed. The contents are in the directory blobs/, by their hash.

CREATE TABLE file_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,                    -- tool, command, found, rewind or redo
    before_hash TEXT,                        -- NULL: nothing was there
    before_mode INTEGER,
    after_hash TEXT,                         -- NULL: nothing is there afterwards; '?': not known; '/': a directory
    after_mode INTEGER,
    lost TEXT NOT NULL DEFAULT '',           -- why the content before was not kept
    rewind_id INTEGER,                       -- the rewind that made this change
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX file_versions_by_session ON file_versions (session_id, turn, id);
CREATE INDEX file_versions_by_hash ON file_versions (before_hash);

CREATE TABLE rewinds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    first_turn INTEGER NOT NULL,             -- the turns that were taken back, from … to
    last_turn INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0,       -- 0 in effect, 1 taken back, 2 not finished
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX rewinds_by_session ON rewinds (session_id, id);

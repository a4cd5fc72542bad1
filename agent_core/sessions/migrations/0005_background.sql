-- What goes on behind the turns of a session.

-- News that no turn has told the model of yet; the message that tells of one takes its row away.
CREATE TABLE news (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                      -- the news' own id
    body ANY NOT NULL,                       -- JSON as text; compressed where it is long
    created_at REAL NOT NULL,
    UNIQUE (session_id, name)
) STRICT;

-- What was begun in the background. A row that runs, of a session that no living process holds, is lost.
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                      -- the task's own id
    state TEXT NOT NULL,
    body ANY NOT NULL,                       -- JSON as text; compressed where it is long
    started_at REAL NOT NULL,
    ended_at REAL,
    UNIQUE (session_id, name)
) STRICT;

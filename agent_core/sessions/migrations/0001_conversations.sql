-- Sessions, their turns, what the model saw and said, and what happened.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    cwd TEXT NOT NULL,
    roots TEXT NOT NULL DEFAULT '[]',        -- JSON: directories beside cwd
    source TEXT NOT NULL,
    mode TEXT NOT NULL,
    model TEXT,                              -- provider:model
    options TEXT NOT NULL DEFAULT '{}',      -- JSON
    title TEXT,
    title_source TEXT,                       -- prompt, model or person: a better one replaces a worse one
    parent_id TEXT,                          -- no reference: a parent may be deleted
    root_id TEXT NOT NULL,
    kept TEXT NOT NULL DEFAULT '{}',         -- JSON: what SessionServices keeps between turns
    system_hash TEXT,                        -- into texts
    tools_hash TEXT,                         -- into texts
    requests INTEGER NOT NULL DEFAULT 0,
    usage TEXT NOT NULL DEFAULT '{}',        -- JSON: tokens by kind; null where one was not told
    cost REAL,                               -- US dollars; NULL where it is not known
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0,     -- 0 in use, 1 archived, 2 being deleted
    turns_begun INTEGER NOT NULL DEFAULT 0,  -- numbers of turns are never used twice
    holder TEXT,                             -- JSON of the process that prompts it
    holder_token TEXT,
    holder_until REAL
) STRICT;
CREATE INDEX sessions_by_time ON sessions (archived, updated_at DESC, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, archived, updated_at DESC, id);
CREATE INDEX sessions_by_root ON sessions (root_id);
CREATE INDEX sessions_by_system ON sessions (system_hash) WHERE system_hash IS NOT NULL;
CREATE INDEX sessions_by_tools ON sessions (tools_hash) WHERE tools_hash IS NOT NULL;

CREATE TABLE turns (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    began_at REAL NOT NULL,
    ended_at REAL,
    outcome TEXT,
    note TEXT NOT NULL DEFAULT '',
    undone INTEGER NOT NULL DEFAULT 0,       -- 0; taken back: 1 + how many of its first messages were withdrawn
    PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    body ANY NOT NULL,                       -- JSON as text; compressed where it is long
    hidden TEXT NOT NULL DEFAULT '',         -- withdrawn or undone: not in the model's history
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body ANY NOT NULL,                       -- JSON as text; compressed where it is long
    open INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    UNIQUE (session_id, turn, position)
) STRICT;

-- System prompts and tool definitions: long, and the same in many sessions.
CREATE TABLE texts (
    hash TEXT PRIMARY KEY,
    body ANY NOT NULL
) STRICT, WITHOUT ROWID;

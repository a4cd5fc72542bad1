-- What could not be read any more, as it was found. Something readable is in its place, or nothing.

CREATE TABLE damaged_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    table_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    column_name TEXT NOT NULL,
    value BLOB,                              -- the column's bytes
    rest TEXT NOT NULL,                      -- JSON: the row's other columns
    why TEXT NOT NULL,
    found_at REAL NOT NULL
) STRICT;
CREATE INDEX damaged_rows_by_session ON damaged_rows (session_id);

-- Full-text search over messages. The text is prepared by sessions/search: CJK characters stand apart, so that short
-- words of theirs are found.

-- One row for each message that was looked at, also where nothing of it is searched: the highest id tells how far the
-- index reaches. Only the column of the message's role has text.
CREATE TABLE search_texts (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    hidden TEXT NOT NULL,                    -- as in messages; here it is read without passing over the bodies
    created_at REAL NOT NULL,
    user TEXT NOT NULL DEFAULT '',
    assistant TEXT NOT NULL DEFAULT '',
    tool TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    user, assistant, tool,
    content = 'search_texts', content_rowid = 'message_id', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER search_texts_added AFTER INSERT ON search_texts BEGIN
    INSERT INTO messages_fts (rowid, user, assistant, tool)
    VALUES (new.message_id, new.user, new.assistant, new.tool);
END;
CREATE TRIGGER search_texts_removed AFTER DELETE ON search_texts BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, user, assistant, tool)
    VALUES ('delete', old.message_id, old.user, old.assistant, old.tool);
END;
CREATE TRIGGER messages_hidden AFTER UPDATE OF hidden ON messages BEGIN
    UPDATE search_texts SET hidden = new.hidden WHERE message_id = new.id;
END;

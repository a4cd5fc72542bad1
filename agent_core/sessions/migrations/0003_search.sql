-- Full-text search over messages. The text is prepared by sessions/search: CJK characters stand apart, so that short
-- words of theirs are found.

CREATE TABLE search_texts (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content = 'search_texts', content_rowid = 'message_id', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER search_texts_added AFTER INSERT ON search_texts BEGIN
    INSERT INTO messages_fts (rowid, text) VALUES (new.message_id, new.text);
END;
CREATE TRIGGER search_texts_removed AFTER DELETE ON search_texts BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.message_id, old.text);
END;

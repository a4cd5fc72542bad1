-- What was used and what it cost, by day: it stays when a session is deleted, without where that worked.

CREATE TABLE spending (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    day TEXT NOT NULL,                       -- YYYY-MM-DD where the user lives
    model TEXT NOT NULL,                     -- provider:model; '' where it is not known
    session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    requests INTEGER NOT NULL,
    input INTEGER NOT NULL,                  -- tokens, as far as they were told
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cost REAL NOT NULL,                      -- US dollars, as far as they are known
    unpriced INTEGER NOT NULL,               -- requests whose cost is not known
    UNIQUE (session_id, day, model)
) STRICT;
CREATE INDEX spending_by_day ON spending (day);

-- Sub-agents' requests are in the sums of the sessions that they work for.
INSERT INTO spending (day, model, session_id, requests, input, cached, output, cost, unpriced)
SELECT date(updated_at, 'unixepoch', 'localtime'), coalesce(model, ''), id, requests,
    coalesce(json_extract(usage, '$.input_tokens'), 0), coalesce(json_extract(usage, '$.cached_tokens'), 0),
    coalesce(json_extract(usage, '$.output_tokens'), 0), coalesce(cost, 0.0), CASE WHEN cost IS NULL THEN requests ELSE 0 END
FROM sessions WHERE requests > 0 AND source <> 'sub-agent' AND json_valid(usage);

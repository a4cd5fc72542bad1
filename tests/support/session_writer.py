"""A process that writes turns into a session and tells what was acknowledged.

Arguments: the database, the session's id, how many turns (0: until it is killed). Each acknowledged message is a line
on stdout, «turn message»; at the end comes a line with how often there was trouble.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from agent_core.events import AgentText
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.database import Database
from agent_core.sessions.store import SessionStore


def main() -> None:
    path, session, turns = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    database = Database(path)
    store = SessionStore(database)
    store.create(session, "/srv/project")
    trouble = 0
    for number in range(turns) if turns else itertools.count():
        turn = f"t{number}"
        journal = store.journal(session, turn)
        store.begin_turn(session, turn)
        for count in range(2 + number % 3):
            text = f"{number} {count}"
            journal.record(AgentText(f"{turn}-message-{count}", text))
            assert store.append(session, turn, assistant_message(text) if count % 2 else user_message(text))
            trouble += bool(store.trouble(session))
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        store.end_turn(session, turn, "end_turn")
    store.close()
    database.close()
    sys.stdout.write(f"trouble {trouble}\n")


if __name__ == "__main__":
    main()

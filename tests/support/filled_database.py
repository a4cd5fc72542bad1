"""A database with sessions in it, made with plain SQL, and ways to damage it."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.database import Database, pack


def fill(path: Path, sessions: int = 20, turns: int = 5, body: int = 600) -> None:
    """Make a database at `path` with sessions, turns, messages (two a turn), events, texts, and changed files."""
    database, blobs, noise = Database(path), BlobStore(path.parent / "blobs"), random.Random(1)
    with database.write() as connection:
        for session in range(sessions):
            name = f"session-{session:03}"
            connection.execute(
                "INSERT INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at, turns_begun,"
                " system_hash) VALUES (?, '/srv/project', 'acp', 'default', ?, ?, ?, ?, ?)",
                (name, name, session, session + 1, turns, f"hash-{session}"),
            )
            connection.execute("INSERT INTO texts VALUES (?, ?)", (f"hash-{session}", pack(f"system {session}")))
            for turn in range(1, turns + 1):
                connection.execute(
                    "INSERT INTO turns (session_id, number, id, began_at, ended_at, outcome)"
                    " VALUES (?, ?, ?, 1, 2, 'end_turn')",
                    (name, turn, f"{name}-{turn}"),
                )
                for role in ("user", "assistant"):
                    text = f"{name} {turn} {role} " + "".join(chr(noise.randrange(97, 123)) for _ in range(body))
                    connection.execute(
                        "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, ?, ?, ?, 3)",
                        (name, turn, role, pack({"role": role, "content": text})),
                    )
                connection.execute(
                    "INSERT INTO events (session_id, turn, position, kind, version, body, created_at)"
                    " VALUES (?, ?, 1, 'text', 1, ?, 3)",
                    (name, turn, pack({"id": f"{name}-{turn}-message-1", "text": f"{name} {turn}"})),
                )
            connection.execute(
                "INSERT INTO file_versions (session_id, turn, call_id, path, origin, before_hash, created_at)"
                " VALUES (?, 1, 'c', '/srv/project/a', 'tool', ?, 3)",
                (name, blobs.put(name.encode())),
            )
    database.close()


def counted(path: Path) -> dict[str, int]:
    """How many rows each table has."""
    tables = ("sessions", "turns", "messages", "events", "texts", "file_versions")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


def pages_of(path: Path, name: str) -> list[int]:
    """The leaf pages of a table or an index, in the order of their rows."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
        return [row[0] for row in connection.execute(query, (name,))]


def overwrite(path: Path, page: int, content: bytes = b"\xa5" * 4096) -> None:
    """Put something else in a page's place."""
    with path.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(content)


def damage(path: Path, seed: int) -> None:
    """Do what failing disks do: wrong pages, lost pages, single bytes, a missing end."""
    chance = random.Random(seed)
    size = path.stat().st_size
    pages = size // 4096
    for _ in range(chance.randint(1, 6)):
        page = chance.randint(1, pages)
        kind = chance.choice(("noise", "bytes", "other page", "zeros"))
        if kind == "bytes":
            with path.open("r+b") as stream:
                stream.seek(chance.randrange(size))
                stream.write(chance.randbytes(chance.randint(1, 8)))
        elif kind == "other page":
            start = chance.randrange(pages) * 4096
            overwrite(path, page, path.read_bytes()[start : start + 4096])
        else:
            overwrite(path, page, chance.randbytes(4096) if kind == "noise" else bytes(chance.choice((512, 4096))))
    if chance.random() < 0.2:
        with path.open("r+b") as stream:
            stream.truncate(chance.randrange(size))

"""How a secret that we know looks where it was encoded on its way: in base64, in an address, in JSON within JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

_SHORTEST = 10


def forms_of(secret: str) -> Iterator[str]:
    """`secret` itself, and what is left of it in the usual encodings, wherever it stands in what was encoded."""
    yield secret
    yield quote(secret, safe="", errors="surrogatepass")
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    data = secret.encode(errors="surrogatepass")
    for before in range(3):
        core = _core(data, before)
        if len(core) >= _SHORTEST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _core(data: bytes, before: int) -> str:
    """What base64 makes of `data` behind `before` other bytes, without the signs that other bytes have a part in."""
    begin = -(-8 * before // 6)
    end = 8 * (before + len(data)) // 6
    return base64.b64encode(b"\0" * before + data).decode()[begin:end]

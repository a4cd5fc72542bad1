"""What a browser may do with a page of ours: show it, and nothing else."""

from __future__ import annotations

import base64
import hashlib


def content_policy(styles: tuple[str, ...], script: str) -> str:
    """What the browser may run and load: these styles, this script, pictures in the page, and nothing else."""
    rules = (
        "default-src 'none'",
        "img-src data:",
        f"style-src {' '.join(map(_hash, styles))}",
        f"script-src {_hash(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"

"""What every page of ours is in: one HTML file that needs nothing else, and may do nothing but show itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from acp_adapter.export.markup import text
from acp_adapter.export.page_policy import content_policy


def page_in_frame(title: str, body: str, styles: Sequence[str], script: str) -> str:
    """The page: `body` is HTML; only these styles and this script count in it."""
    return Template(resource("acp_adapter.export", "frame.html")).substitute(
        policy=content_policy(tuple(styles), script),
        title=text(title),
        styles="".join(f"<style>{style}</style>\n" for style in styles),
        body=body,
        script=script,
    )


def resource(package: str, name: str) -> str:
    """A text that lies beside the modules of `package`."""
    return files(package).joinpath(name).read_text("utf-8")

"""Run the scenes and draw them.

Terminals become SVG: the text of a pseudo-terminal, letter by letter. Pages become PNG, if there is a Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scripts.pictures.browser import photograph
from scripts.pictures.drawing import drawn
from scripts.pictures.scenes import SCENES, Stage


def main(arguments: Sequence[str]) -> int:
    """Draw everything into the folder that the arguments name."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m scripts.pictures docs/pictures\n")
        return 2
    folder = Path(arguments[0]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in terminals().items():
        (folder / name).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        stage = Stage(Path(place).resolve())
        for name, page in stage.pages().items():
            if not photograph(page, folder / name):
                sys.stderr.write(f"{name} is left as it is: there is no Chromium (apt-get install chromium).\n")
    return 0


def terminals() -> dict[str, str]:
    """The pictures of terminals, by file name."""
    pictures = {}
    for scene in SCENES:
        with tempfile.TemporaryDirectory(prefix="pictures-") as place:
            stage = Stage(Path(place).resolve())
            pictures[f"{scene.name}.svg"] = drawn(stage.play(scene), scene.title)
    return pictures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

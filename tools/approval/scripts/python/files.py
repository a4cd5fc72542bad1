"""The files that a script of Python opens."""

from __future__ import annotations

from tools.approval.scripts.effects import Effects
from tools.approval.scripts.naming import each, names
from tools.approval.scripts.python.calls import Call
from tools.approval.scripts.python.folding import text_of
from tools.bash.reading import UNKNOWN

# Where the mode is among the arguments.
_OPENERS = each(
    "open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile io.FileIO gzip.GzipFile os.fdopen"
    " shelve.open dbm.open",
    1,
)
_READERS = names(
    "linecache.getline linecache.getlines fileinput.input fileinput.FileInput io.open_code pandas.read_json json.load"
    " tomllib.load numpy.load numpy.loadtxt"
)
_PATH_READERS = frozenset({"pathlib.Path().read_text", "pathlib.Path().read_bytes"})
_PATH_WRITERS = frozenset({"pathlib.Path().write_text", "pathlib.Path().write_bytes"})
_WRITING_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")
_TAKE_OPEN_FILES = frozenset({"json.load", "tomllib.load"})


def look_at_file(thing: str, call: Call, effects: Effects) -> bool:
    """Note that a file is read or written; False where `thing` opens none."""
    path = text_of(call.owner, call.names) if call.owner is not None and thing.startswith("pathlib.Path().") else ""
    if thing in _OPENERS:
        _open(_first(call), call, _OPENERS[thing], effects)
    elif thing == "pathlib.Path().open":
        _open(path, call, 0, effects)
    elif thing in _PATH_READERS:
        effects.reads(path)
    elif thing in _PATH_WRITERS:
        effects.writes(path)
    elif thing == "os.open":
        _open_low(call, effects)
    elif thing in _TAKE_OPEN_FILES:
        return False
    elif thing in _READERS:
        effects.reads(call.text(0))
        effects.doubt()
    else:
        return False
    return True


def _first(call: Call) -> str:
    return call.text(0) if call.node.args else call.keyword_text("file") or UNKNOWN


def _open(path: str, call: Call, place: int, effects: Effects) -> None:
    mode = call.text(place) if len(call.node.args) > place else call.keyword_text("mode") or "r"
    if "opener" in call.keywords:
        effects.doubt()
    if UNKNOWN in mode or any(letter in mode for letter in "wax+cn"):
        effects.writes(path)
    elif path.isdigit():
        effects.doubt()  # a descriptor
    else:
        effects.reads(path)


def _open_low(call: Call, effects: Effects) -> None:
    import ast  # noqa: PLC0415 - only for one function

    flags = ast.dump(call.node.args[1]) if len(call.node.args) > 1 else ""
    effects.doubt()
    if any(flag in flags for flag in _WRITING_FLAGS) or not flags:
        effects.writes(call.text(0))
    else:
        effects.reads(call.text(0))

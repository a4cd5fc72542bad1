"""What a proven script of Python may use: it computes, prints, and looks at names and ordinary files."""

from __future__ import annotations

import re

from tools.approval.scripts.naming import names

BUILTINS = frozenset({
    "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict", "dir",
    "divmod", "enumerate", "filter", "float", "format", "frozenset", "hasattr", "hash", "hex", "id", "int",
    "isinstance",
    "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow", "print", "range",
    "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip", "exit", "quit",
    "Exception", "ValueError", "KeyError", "TypeError", "IndexError", "SystemExit", "RuntimeError", "StopIteration",
    "ImportError", "OSError", "FileNotFoundError", "AttributeError", "KeyboardInterrupt", "ZeroDivisionError",
    "AssertionError", "NotImplementedError", "True", "False", "None", "Ellipsis", "super", "property", "staticmethod",
    "classmethod", "__name__", "__file__", "__doc__", "ModuleNotFoundError", "UnicodeDecodeError", "BaseException",
})  # fmt: skip
# Loaded before the script starts, or built in: no file of the directory can take their place.
_ALWAYS_THERE = frozenset(
    {"sys", "os", "os.path", "io", "time", "itertools", "errno", "codecs", "builtins", "stat", "abc"}
)
_STANDARD = frozenset({
    "json", "math", "cmath", "re", "string", "collections", "collections.abc", "datetime", "decimal", "fractions",
    "statistics", "random", "hashlib", "base64", "binascii", "textwrap", "pprint", "functools", "operator", "struct",
    "uuid", "calendar", "difflib", "html", "urllib", "urllib.parse", "platform", "sysconfig", "csv", "tomllib", "ast",
    "keyword", "heapq", "bisect", "copy", "enum", "dataclasses", "typing", "unicodedata", "pathlib", "glob",
    "fnmatch",
    "numbers", "array", "zoneinfo", "colorsys", "secrets", "zlib", "contextlib", "__future__", "site", "locale",
})  # fmt: skip
_OF_SYS = re.compile(
    r"sys\.(?:std(?:in|out|err)(?:\.(?:read|readline|readlines|write|flush|buffer|isatty|encoding)\b.*)?|argv|version"
    r"|version_info(?:\..*)?|executable|platform|path|byteorder|maxsize|exit|getsizeof|getrecursionlimit|flags|prefix"
    r"|base_prefix|exec_prefix|implementation(?:\..*)?|maxunicode|float_info(?:\..*)?|int_info|getdefaultencoding"
    r"|getfilesystemencoding|builtin_module_names|stdlib_module_names|hexversion|api_version)"
)
_OF_OS = re.compile(
    r"os\.(?:path(?:\.\w+)?|getcwd|sep|linesep|pathsep|extsep|curdir|pardir|name|listdir|walk|scandir|stat|lstat|cpu_count"
    r"|getpid|getppid|uname|getuid|geteuid|getgid|access|R_OK|W_OK|X_OK|F_OK|fspath|environ\.get|getenv|get_terminal_size"
    r"|getloadavg|getlogin|sched_getaffinity|readlink|cpu_count|times)"
)
_OF_PATHS = re.compile(
    r"pathlib\.(?:Path|PurePath|PurePosixPath|Path\.(?:home|cwd)|Path\(\)\.(?:exists|is_\w+|stat|lstat|name|stem|suffix"
    r"|suffixes|parent|parents|parts|resolve|absolute|expanduser|as_posix|as_uri|relative_to|is_relative_to|with_\w+"
    r"|joinpath|glob|rglob|iterdir|match|read_text|read_bytes|root|anchor|drive|owner|group|samefile|home|cwd))"
)
# Of these modules all is harmless, but for what is named.
_WHOLE = re.compile(
    r"(?:json|math|cmath|re|string|collections|datetime|decimal|fractions|statistics|random|hashlib|base64|binascii"
    r"|textwrap|pprint|itertools|struct|uuid|calendar|difflib|html|urllib\.parse|platform|sysconfig|csv|tomllib|keyword|heapq"
    r"|bisect|copy|enum|dataclasses|typing|unicodedata|glob|fnmatch|numbers|array|zoneinfo|colorsys|secrets|zlib|errno"
    r"|stat|time|abc|locale|io)(?:\.[A-Za-z]\w*)*"
)
_NOT_OF_THEM = re.compile(
    # Which loads a part of the library only now: from the directory, if it has a file of that name.
    r"(?:time\.strptime"
    r"|json\.tool|io\.(?:open\w*|FileIO|Buffered\w+)|platform\.(?:popen|_\w+)|dataclasses\.make_dataclass"
    r"|collections\.namedtuple|hashlib\.file_digest|random\.(?:_\w+|SystemRandom)|csv\.writer|typing\.get_type_hints"
    r"|typing\._eval\w*|copy\.copyreg.*|re\.(?:_\w+|enum|copyreg|functools).*"
    r"|\w+\.(?:sys|os|io|builtins|subprocess|types|warnings|functools|importlib|inspect)\b.*)"
)
_FUNCTIONAL = names(
    "functools.reduce functools.partial functools.lru_cache functools.cache ast.literal_eval contextlib.suppress"
    " operator.itemgetter operator.add operator.mul site.getsitepackages"
)
# Of texts, lists, dictionaries, sets, numbers, dates, matches, and files that were opened to be read.
METHODS = frozenset({
    "capitalize", "casefold", "center", "count", "decode", "encode", "endswith", "expandtabs", "find", "format",
    "format_map",
    "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
    "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "maketrans", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "swapcase", "title", "translate", "upper", "zfill", "append", "extend",
    "insert", "pop", "remove", "sort", "reverse", "clear", "copy", "get", "items", "keys", "values", "setdefault",
    "update", "popitem", "fromkeys", "add", "discard", "difference", "union", "intersection", "symmetric_difference",
    "issubset", "issuperset", "isdisjoint", "most_common", "elements", "subtract", "bit_length", "to_bytes",
    "from_bytes",
    "hex", "fromhex", "is_integer", "as_integer_ratio", "conjugate", "isoformat", "strftime", "strptime", "timestamp",
    "date", "time", "weekday", "isoweekday", "isocalendar", "total_seconds", "now", "today", "utcnow", "group",
    "groups",
    "groupdict", "start", "end", "span", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "read",
    "readline", "readlines", "close", "seek", "tell", "hexdigest", "digest", "popleft", "appendleft", "rotate",
    "exists", "is_file", "is_dir", "stat", "iterdir", "glob", "rglob", "as_posix", "relative_to", "with_suffix",
    "resolve", "parse", "dumps", "loads",
})  # fmt: skip


def may_import(module: str, *, isolated: bool) -> bool:
    """True when importing `module` runs nothing but the standard library.

    Args:
        isolated: the directory of the script is not looked into (`python -I`): otherwise a file `json.py` there would
            run in place of the library's.
    """
    return module in _ALWAYS_THERE or (isolated and module in _STANDARD)


def may_use(thing: str) -> bool:
    """True when what a qualified name stands for is harmless, called with whatever arguments."""
    if thing in BUILTINS or thing in _FUNCTIONAL or thing in _ALWAYS_THERE or thing in _STANDARD:
        return True
    if "()" in thing:
        # What was called before is looked at by itself.
        made, _, attribute = thing.rpartition(".")
        if thing.removesuffix("[]").endswith("()"):
            return True
        return attribute in METHODS or (made == "pathlib.Path()" and _OF_PATHS.fullmatch(thing) is not None)
    if "[]" in thing:
        return may_use(thing.partition("[]")[0])
    if any(pattern.fullmatch(thing) for pattern in (_OF_SYS, _OF_OS, _OF_PATHS)):
        return True
    return _WHOLE.fullmatch(thing) is not None and _NOT_OF_THEM.fullmatch(thing) is None

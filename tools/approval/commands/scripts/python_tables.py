"""Python: what functions do, and which are harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tools.approval.commands.classes import Finding
from tools.approval.commands.scripts.effects import (
    BEYOND,
    CHANGES_RIGHTS,
    CONNECTS,
    DELETES,
    ENDS,
    HIDDEN,
    LEAVES,
    OTHER_RIGHTS,
    REMOVES_ELSEWHERE,
    SENDS,
    SHOWS_SECRETS,
    each,
    names,
)
from tools.light_dataclass import dataclass

# What functions of Python do, as the shell commands that do the same.


@dataclass(frozen=True, slots=True)
class Like:
    """A function that does what a shell command does.

    Attributes:
        template: `{0}` is the first argument, and so on.
        at_least: what it is whatever the arguments are.
        needs: how many of the arguments must be known; otherwise the sandbox contains it.
    """

    template: str
    at_least: Finding | None = None
    needs: int = 0


_REMOVE = Like("rm -f -- {0}", DELETES)
_REMOVE_TREE = Like("rm -rf -- {0}", DELETES)
_COPY = Like("cp -r -- {0} {1}", None, 2)
_MOVE = Like("mv -- {0} {1}", None, 2)
_LINK = Like("ln -s -- {0} {1}", None, 2)
_FOLDER = Like("mkdir -p -- {0}", None, 1)

LIKE_A_COMMAND: Mapping[str, Like] = {
    **each("os.remove os.unlink pathlib.Path().unlink", _REMOVE),
    **each("os.rmdir pathlib.Path().rmdir", Like("rmdir -- {0}", DELETES)),
    **each("shutil.rmtree distutils.dir_util.remove_tree send2trash.send2trash", _REMOVE_TREE),
    **each("os.removedirs", Like("rmdir -p -- {0}", DELETES)),
    **each("os.truncate", Like("truncate -s 0 -- {0}", DELETES)),
    **each("shutil.copy shutil.copy2 shutil.copyfile shutil.copytree", _COPY),
    **each("shutil.move os.rename os.replace os.renames pathlib.Path().rename pathlib.Path().replace", _MOVE),
    **each("os.symlink os.link", _LINK),
    **each("pathlib.Path().symlink_to", Like("ln -s -- {1} {0}", None, 2)),
    **each("pathlib.Path().hardlink_to", Like("ln -- {1} {0}", None, 2)),
    **each("os.mkdir os.makedirs pathlib.Path().mkdir", _FOLDER),
    **each("pathlib.Path().touch os.mkfifo", Like("touch -- {0}", None, 1)),
    **each("os.mknod", Like("mknod -- {0}", CHANGES_RIGHTS)),
    **each("os.chown os.lchown shutil.chown os.fchown", Like("chown x -- {0}", CHANGES_RIGHTS)),
    **each("os.setxattr", Like("chattr x -- {0}", CHANGES_RIGHTS)),
    **each("os.chroot", Like("chroot {0}", OTHER_RIGHTS)),
    **each("urllib.request.urlretrieve", Like("curl -sS -o {1} {0}")),
}

# Whatever the arguments are.
ALWAYS: Mapping[str, Finding] = {
    **each("os.setuid os.setgid os.seteuid os.setegid os.setreuid os.setresuid", OTHER_RIGHTS),
    **each("os.setsid os.daemon daemon.DaemonContext os.forkpty pty.fork os.fork", LEAVES),
    **each(
        "os.abort os.reboot signal.pthread_kill os.killpg psutil.Process().kill psutil.Process().terminate"
        " psutil.Process().suspend",
        ENDS,
    ),
    **each(
        "ctypes.CDLL ctypes.cdll ctypes.PyDLL ctypes.pythonapi ctypes.windll ctypes.memmove ctypes.memset"
        " ctypes.cast ctypes.string_at cffi.FFI ctypes.util.find_library mmap.mmap _ctypes.dlopen",
        BEYOND,
    ),
    **each(
        "socket.create_connection socket.socket().connect socket.socket().connect_ex socket.socket().sendto"
        " asyncio.open_connection ssl.wrap_socket socket.fromfd ftplib.FTP telnetlib.Telnet smtplib.SMTP"
        " smtplib.SMTP_SSL paramiko.SSHClient paramiko.Transport fabric.Connection websocket.create_connection"
        " websockets.connect poplib.POP3 imaplib.IMAP4 nntplib.NNTP xmlrpc.client.ServerProxy webbrowser.open"
        " webbrowser.open_new webbrowser.open_new_tab dns.resolver.resolve",
        CONNECTS,
    ),
    **each(
        "marshal.loads types.FunctionType types.CodeType types.LambdaType sys._getframe code.interact"
        " code.InteractiveConsole code.InteractiveInterpreter pdb.run pdb.set_trace breakpoint sys.settrace"
        " sys.setprofile sys.addaudithook gc.get_objects gc.get_referrers inspect.currentframe inspect.stack"
        " pickle.loads operator.attrgetter operator.methodcaller codeop.compile_command timeit.timeit"
        " cProfile.run trace.Trace doctest.testmod",
        HIDDEN,
    ),
    **each("keyring.get_password spwd.getspnam spwd.getspall browser_cookie3.load", SHOWS_SECRETS),
    **each(
        "crontab.CronTab winreg.SetValueEx",
        Finding("dangerous", "persistence", "installs something that comes back"),
    ),
}

# A shell reads their first argument.
SHELLS = names(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell"
    " commands.getoutput commands.getstatusoutput os.popen2 os.popen3 os.popen4 platform.popen popen2.popen2"
    " pexpect.run invoke.run plumbum.local delegator.run"
)
# They start a program: a list of words, or one text.
STARTERS = names(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen"
    " asyncio.create_subprocess_exec pty.spawn pexpect.spawn ptyprocess.PtyProcess.spawn os.startfile"
    " _posixsubprocess.fork_exec subprocess.fork_exec"
)
# Where the words begin in the arguments of what replaces this process or starts another; True: all in one list.
REPLACERS: Mapping[str, tuple[int, bool]] = {
    **dict.fromkeys(
        ("os.execv", "os.execvp", "os.execve", "os.execvpe", "os.posix_spawn", "os.posix_spawnp"), (0, True)
    ),
    **dict.fromkeys(("os.execl", "os.execlp", "os.execle", "os.execlpe"), (0, False)),
    **dict.fromkeys(("os.spawnv", "os.spawnvp", "os.spawnve", "os.spawnvpe"), (1, True)),
    **dict.fromkeys(("os.spawnl", "os.spawnlp", "os.spawnle", "os.spawnlpe"), (1, False)),
}
EVALUATORS = frozenset({"eval", "exec", "compile", "execfile"})
RUN_FILES = frozenset({"runpy.run_path", "runpy.run_module", "importlib.reload", "execfile", "imp.load_source"})
# Modules whose whole contents may not wander off to where nobody sees what is done with them.
POWERFUL = names("os sys subprocess shutil builtins importlib ctypes socket pty posix signal")
TRICKS = frozenset({"eval", "exec", "compile", "__import__", "getattr", "globals", "locals", "setattr", "delattr"})
HIDING_ATTRIBUTES = names(
    "__subclasses__ __globals__ __builtins__ __code__ __closure__ f_globals f_builtins f_locals f_back gi_frame"
    " cr_frame tb_frame __getattribute__ __bases__ __base__ __mro__ __self__ __spec__ __loader__ __reduce_ex__"
    " func_globals __import__"
)

GETTERS = names(
    "urllib.request.urlopen urllib.request.Request requests.get requests.head requests.options httpx.get httpx.head"
    " urllib2.urlopen requests.Session().get httpx.Client().get urllib.urlopen requests.session().get"
    " urllib3.PoolManager().request aiohttp.ClientSession().get wget.download http.client.HTTPConnection"
    " http.client.HTTPSConnection socket.gethostbyname socket.getaddrinfo pandas.read_csv requests.request"
    " httpx.request requests.Session().request urllib.request.urlretrieve"
)
POSTERS = frozenset(
    f"{module}.{verb}"
    for module in (
        "requests",
        "httpx",
        "requests.Session()",
        "requests.session()",
        "httpx.Client()",
        "aiohttp.ClientSession()",
    )
    for verb in ("post", "put", "patch", "delete")
)
SENDS_WITH = frozenset({"data", "json", "files", "content", "fields", "body"})

# Methods of whatever object, by name.
METHODS: Mapping[str, Finding] = {
    **each(
        "drop_all drop_database drop_collection dropDatabase delete_many delete_one flushall flushdb drop_table"
        " drop_tables delete_all destroy_all",
        REMOVES_ELSEWHERE,
    ),
    **each(
        "sendmail send_message storbinary storlines put_object upload_file upload_fileobj sendfile sendto"
        " sendmsg exec_command invoke_shell",
        SENDS,
    ),
    **each("rmtree unlink rmdir removedirs", DELETES),
    **each("send_signal killpg", ENDS),
}
REMOVING_PREFIXES = ("delete_", "terminate_", "destroy_", "deregister_", "purge_", "unregister_", "deprovision_")
SQL_METHODS = names("execute executemany executescript raw read_sql read_sql_query exec_driver_sql")
WRITERS = names(
    "to_csv to_json to_excel to_parquet to_pickle to_html savefig save write_text write_bytes savetxt imsave"
)


# What a proven script of Python may use: it computes, prints, and looks at names and ordinary files.

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
HARMLESS_METHODS = frozenset({
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
        return attribute in HARMLESS_METHODS or (made == "pathlib.Path()" and _OF_PATHS.fullmatch(thing) is not None)
    if "[]" in thing:
        return may_use(thing.partition("[]")[0])
    if any(pattern.fullmatch(thing) for pattern in (_OF_SYS, _OF_OS, _OF_PATHS)):
        return True
    return _WHOLE.fullmatch(thing) is not None and _NOT_OF_THEM.fullmatch(thing) is None

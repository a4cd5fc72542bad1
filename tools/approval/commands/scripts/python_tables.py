"""Python: what functions do."""

from __future__ import annotations

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

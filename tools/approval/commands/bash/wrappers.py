"""Programs that run what their arguments name: wrappers of another command, and runners of code in other forms."""

from __future__ import annotations

import re

from tools.approval.commands.bash.reading import UNKNOWN, Argument
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program whose arguments end with a command.

    Attributes:
        letters: short options whose value is the next argument.
        words: long options whose value is the next argument.
        operands: arguments of its own before the command.
        may_lead: an argument of its own may come before its options.
        texts: options whose value is a text for a shell.
        assigns: `A=1` may come before the command.
        is_shown: it does something itself, and counts as a program too.
        elsewhere: the command runs on another machine or in a container.
        is_text: the command's words are joined and given to a shell.
        subcommand: words that must come first, as in `uv run`; any of them.
        needs_dashes: the command comes after one of `dashes` alone.
    """

    letters: str = ""
    words: frozenset[str] = frozenset()
    operands: int = 0
    may_lead: bool = False
    texts: frozenset[str] = frozenset()
    assigns: bool = False
    is_shown: bool = False
    elsewhere: bool = False
    is_text: bool = False
    subcommand: frozenset[str] = frozenset()
    needs_dashes: bool = False
    dashes: frozenset[str] = frozenset({"--"})


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN = Wrapper()
_SUDO = Wrapper(
    "ughpCTRDrtU",
    _set("--user --group --host --prompt --close-from --chroot --chdir --role --type --other-user --command-timeout"),
    assigns=True,
)
_TIME = Wrapper("fo", _set("--format --output"), is_shown=True)
_STRACE = Wrapper("abeEIoOpPsSuUX", _set("--output --expr --trace --user --attach --env"), is_shown=True)
_RUN = _set("run exec x")
# Their `run` is for scripts of the project.
_EXEC = _set("exec dlx x")
_NODE = Wrapper(
    "pCw", _set("--package --prefix --workspace --filter --dir --cwd"), texts=_set("-c --call"), subcommand=_EXEC
)
_NPX = Wrapper("p", _set("--package --prefix --workspace"), texts=_set("-c --call"))
_IN_ENVIRONMENT = _set(
    "--project --directory --python --with --with-requirements --extra --group --env --env-file --index --index-url"
    " --package --name --prefix --cwd --dir --config-file --from --refresh-package --with-editable --no-group"
)

# Those which change who runs a command, how long or how fast, or what it sees.
WRAPPERS: dict[str, Wrapper] = {
    "sudo": _SUDO,
    "doas": Wrapper("uC", assigns=True),
    "pkexec": Wrapper(words=_set("--user")),
    "run0": Wrapper("uD", _set("--user --group --chdir --unit --property --slice --nice --machine --setenv")),
    "please": Wrapper("ut", _set("--user --target")),
    "calife": Wrapper(operands=1),
    "gosu": Wrapper(operands=1),
    "su-exec": Wrapper(operands=1),
    "setpriv": Wrapper(words=_set("--reuid --regid --groups --ruid --euid --rgid --egid --inh-caps --ambient-caps"
        " --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile --reset-env")),
    "env": Wrapper("uCSP", _set("--unset --chdir --split-string"), assigns=True),
    "cross-env": Wrapper(assigns=True),
    "cross-env-shell": Wrapper(assigns=True, is_text=True),
    "dotenv": Wrapper("fepc", _set("--file --export --override"), assigns=True),
    "dotenvx": Wrapper("fe", _set("--env-file --env"), subcommand=_RUN),
    "direnv": Wrapper(operands=1, subcommand=_RUN),
    "nohup": _PLAIN,
    "setsid": _PLAIN,
    "daemonize": Wrapper("acepolEu", is_shown=True),
    "start-stop-daemon": Wrapper(needs_dashes=True, is_shown=True),
    "time": _TIME,
    "gtime": _TIME,
    "timeout": Wrapper("ks", _set("--kill-after --signal"), operands=1),
    "gtimeout": Wrapper("ks", _set("--kill-after --signal"), operands=1),
    "timelimit": Wrapper("TtSspq"),
    "nice": Wrapper("n", _set("--adjustment")),
    "ionice": Wrapper("cnpPu", _set("--class --classdata")),
    "chrt": Wrapper("TPD", operands=1),
    "taskset": Wrapper("p", operands=1),
    "numactl": Wrapper("iNmCplH", _set("--interleave --cpunodebind --membind --physcpubind --preferred")),
    "prlimit": Wrapper("po", _set("--pid --output")),
    "choom": Wrapper("np", _set("--adjust --pid")),
    "cpulimit": Wrapper("lpe", _set("--limit --pid --exe")),
    "trickle": Wrapper("duwtlLnP"),
    "stdbuf": Wrapper("ioe", _set("--input --output --error")),
    "unbuffer": _PLAIN,
    "chronic": _PLAIN,
    "caffeinate": Wrapper("tw"),
    "faketime": Wrapper("f", operands=1),
    "fakeroot": Wrapper("lsib", _set("--lib --faked")),
    "setarch": Wrapper(may_lead=True),
    "linux32": _PLAIN,
    "linux64": _PLAIN,
    "i386": _PLAIN,
    "x86_64": _PLAIN,
    "arch": Wrapper("e"),
    "catchsegv": _PLAIN,
    "strace": _STRACE,
    "ltrace": Wrapper("aAeDFlnopsuwxX", _set("--output"), is_shown=True),
    "valgrind": Wrapper(is_shown=True),
    "perf": Wrapper("eopCtGIr", _set("--event --output --repeat"), is_shown=True,
        subcommand=_set("stat record trace")),
    "hyperfine": Wrapper("wrmMSNnpcPDLu", _set("--warmup --runs --min-runs --max-runs --shell --export-json"
        " --export-markdown --export-csv --command-name --ignore-failure --style --output --input"),
        texts=_set("-p --prepare -s --setup -c --cleanup --conclude -C"), is_text=True),
    "command": _PLAIN,
    "builtin": _PLAIN,
    "exec": Wrapper("a"),
    "noglob": _PLAIN,
    "nocorrect": _PLAIN,
    "coproc": _PLAIN,
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    "flock": Wrapper("wEc", _set("--timeout --wait --conflict-exit-code"), operands=1, texts=_set("-c --command")),
    "lockf": Wrapper("t", operands=1),
    "setlock": Wrapper(operands=1),
    "watch": Wrapper("nqd", _set("--interval --equexit"), is_text=True),
    "viddy": Wrapper("n", _set("--interval")),
    "chroot": Wrapper(words=_set("--userspec --groups"), operands=1, is_shown=True),
    "arch-chroot": Wrapper("uN", operands=1, is_shown=True),
    "proot": Wrapper("rbwqkcvR0S", _set("--rootfs --bind --cwd --pwd"), is_shown=True),
    "unshare": Wrapper("RwSG", _set("--root --wd --setuid --setgid --propagation --setgroups --map-user --map-group"
        " --kill-child")),
    "nsenter": Wrapper("tSGWZ", _set("--target --setuid --setgid --wd"), is_shown=True),
    "bwrap": Wrapper(is_shown=True, words=_set("--chdir --setenv --hostname --uid --gid --tmpfs --proc --dev --dir")),
    "firejail": Wrapper(is_shown=True),
    "systemd-run": Wrapper("puMHEGtqdrS", _set("--unit --property --description --slice --uid --gid --nice --host"
        " --machine --setenv --on-active --on-boot --on-calendar --working-directory --service-type --timer-property"
        " --on-startup --on-unit-active"), is_shown=True),
    "systemd-cat": Wrapper("tp", _set("--identifier --priority --stderr-priority --level-prefix")),
    "systemd-inhibit": Wrapper(words=_set("--what --who --why --mode")),
    "dbus-run-session": Wrapper(words=_set("--config-file --dbus-daemon")),
    "dbus-launch": _PLAIN,
    "xvfb-run": Wrapper("nfepsl", _set("--server-num --server-args --error-file --auth-file")),
    "torsocks": _PLAIN,
    "torify": _PLAIN,
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "eatmydata": _PLAIN,
    "softlimit": Wrapper("acdflmoprst"),
    "chpst": Wrapper("uUbegmdnopftcr012"),
    "setuidgid": Wrapper(operands=1),
    "envdir": Wrapper(operands=1),
    "ssh-agent": Wrapper("aEtP"),
    "script": Wrapper("cEImoOTB", _set("--log-in --log-out --log-io --log-timing --output-limit --echo"),
        texts=_set("-c --command"), is_shown=True, needs_dashes=True),
    "rlwrap": Wrapper("bcDfHlMOqrsSt"),
    "entr": _PLAIN,
    "reflex": Wrapper("rRgGdts", needs_dashes=True),
    "watchexec": Wrapper("wefionsWEd", _set("--watch --exts --filter --ignore --signal --shell --debounce"),
        is_text=True),
    "nodemon": Wrapper("wedi", _set("--watch --ext --delay --ignore"), texts=_set("-x --exec")),
    "concurrently": Wrapper("nclpm", _set("--names --prefix-colors --prefix --max-processes"), is_text=True),
    "op": Wrapper(subcommand=_RUN, needs_dashes=True),
    "doppler": Wrapper("pct", subcommand=_RUN, texts=_set("--command")),
    "infisical": Wrapper(subcommand=_RUN, texts=_set("--command")),
    "aws-vault": Wrapper(subcommand=_RUN, operands=1),
    "chamber": Wrapper(subcommand=_RUN, operands=1, needs_dashes=True),
    "vagrant": Wrapper("c", subcommand=_set("ssh"), texts=_set("-c --command"), elsewhere=True, is_shown=True),
    # On several machines at once.
    **dict.fromkeys(("pssh", "parallel-ssh", "prsh"), Wrapper(
        "hHlpoetxXO",
        _set("--hosts --host --user --par --outdir --errdir --timeout --extra-args --extra-arg --option"),
        elsewhere=True, is_shown=True, is_text=True)),
    "pdsh": Wrapper("wxgGltufRMFX", elsewhere=True, is_shown=True, is_text=True),
    "clush": Wrapper("wxgXltufRmO", _set("--group --user --hostfile --fanout --worker --conf --option --mode"),
        elsewhere=True, is_shown=True, is_text=True),
    "dsh": Wrapper("mgrfoFn", _set("--machine --group --remoteshell --file --remoteshellopt --forklimit"),
        elsewhere=True, is_shown=True, is_text=True),
    "docker-machine": Wrapper(subcommand=_set("ssh"), operands=1, elsewhere=True, is_shown=True, is_text=True),
    "multipass": Wrapper(subcommand=_RUN, operands=1, elsewhere=True, is_shown=True),
    "lxc": Wrapper(subcommand=_set("exec"), operands=1, elsewhere=True, is_shown=True),
    "incus": Wrapper(subcommand=_set("exec"), operands=1, elsewhere=True, is_shown=True),
    "distrobox": Wrapper("n", subcommand=_set("enter"), needs_dashes=True),
    "toolbox": Wrapper("c", subcommand=_RUN),
    "adb": Wrapper("sHPt", subcommand=_set("shell"), elsewhere=True, is_shown=True, is_text=True),
    "wsl": Wrapper("du", _set("--distribution --user --cd")),
    "wsl.exe": Wrapper("du", _set("--distribution --user --cd")),
    "nix": Wrapper(words=_set("-f --file --inputs-from"), subcommand=_set("develop shell"),
        needs_dashes=True, dashes=_set("-- -c --command"), is_shown=True),
    "nix-shell": Wrapper("pIA", texts=_set("--run --command"), needs_dashes=True, is_shown=True),
    "guix": Wrapper(subcommand=_set("shell environment"), needs_dashes=True, is_shown=True),
    # Those that run it in the surroundings of a project.
    "uv": Wrapper("pC", _IN_ENVIRONMENT, subcommand=_RUN),
    "uvx": Wrapper("p", _IN_ENVIRONMENT),
    "pipx": Wrapper(words=_set("--spec --python --pip-args --index-url"), subcommand=_RUN),
    "poetry": Wrapper("CP", _IN_ENVIRONMENT, subcommand=_RUN),
    "pipenv": Wrapper(subcommand=_RUN),
    "pdm": Wrapper("p", _IN_ENVIRONMENT, subcommand=_RUN),
    "rye": Wrapper(subcommand=_RUN),
    "pixi": Wrapper("e", _set("--manifest-path --environment"), subcommand=_RUN),
    "hatch": Wrapper("ep", _IN_ENVIRONMENT, subcommand=_RUN),
    "tox": Wrapper("e", subcommand=_set("exec"), needs_dashes=True),
    "conda": Wrapper("np", _IN_ENVIRONMENT, subcommand=_RUN),
    "mamba": Wrapper("np", _IN_ENVIRONMENT, subcommand=_RUN),
    "micromamba": Wrapper("npr", _IN_ENVIRONMENT, subcommand=_RUN),
    "bundle": Wrapper(subcommand=_RUN),
    "rbenv": Wrapper(subcommand=_RUN),
    "pyenv": Wrapper(subcommand=_RUN),
    "asdf": Wrapper(subcommand=_RUN),
    "mise": Wrapper("CEj", _set("--cd --env --jobs"), texts=_set("-c --command"), subcommand=_EXEC,
        needs_dashes=True),
    "rtx": Wrapper("CEj", _set("--cd --env --jobs"), texts=_set("-c --command"), subcommand=_RUN),
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE,
    "bun": _NODE,
    "npx": _NPX,
    "pnpx": _NPX,
    "bunx": _NPX,
    "shx": _PLAIN,
    "xcrun": Wrapper(words=_set("--sdk --toolchain -sdk -toolchain")),
    "rustup": Wrapper(subcommand=_RUN, operands=1),
    "opam": Wrapper(subcommand=_set("exec"), needs_dashes=True),
    "stack": Wrapper(subcommand=_set("exec")),
    "cabal": Wrapper(subcommand=_set("exec")),
    "mix": Wrapper(subcommand=_set("cmd")),
    "lerna": Wrapper(subcommand=_set("exec")),
}  # fmt: skip

XARGS = Wrapper(
    "aEILnPsdJRS",
    _set("--arg-file --delimiter --max-lines --max-args --max-procs --max-chars --eof --process-slot-var"),
)
PARALLEL = Wrapper(
    "jaINnlLCSPsEd",
    _set("--jobs --arg-file --colsep --max-args --delay --timeout --joblog --results --retries --halt --tmpdir"
        " --workdir --wd --env --sshlogin --basefile --return --tagstring --load --memfree --nice --block --recstart"
        " --recend --max-procs --delimiter --sshloginfile --trim --shuf"),
)  # fmt: skip

RUNNERS: frozenset[tuple[str, ...]] = frozenset(
    tuple(words.split())
    for words in (
        "java", "javaw", "jar", "wine", "wine64", "clojure", "clj", "sbcl", "ecl", "octave", "runghc", "kotlin",
        "swipl", "rr", "heaptrack", "gdbserver", "zellij", "dtach", "abduco", "plink", "dbclient", "hermes-acp",
        "uv tool run", "cargo run", "go run", "go tool", "go generate", "composer exec", "gem exec", "rails runner",
        "dart run", "mix run", "dotnet exec", "dotnet run", "dotnet script", "yarn node", "swift run", "zig run",
        "nix run", "bazel run", "coverage run", "git bisect run", "git submodule foreach",
    )
)  # fmt: skip
"""What else runs code that its further words name, by the words that it begins with. None of it is a command that the
reader could follow."""


# Taking a wrapper off: its own arguments apart from the command that it runs.

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=([\s\S]*)", re.ASCII)
_MAX_SUBCOMMAND_PLACE = 4


@dataclass(frozen=True, slots=True)
class Peeled:
    """What a wrapper was given.

    Attributes:
        own: its own arguments.
        rest: the words of the command.
        texts: commands that options hold as a text.
        assignments: variables set for the command.
        values: options and their values.
        is_unsure: an option or an unknown word may have taken a word of the command.
    """

    own: tuple[Argument, ...]
    rest: tuple[Argument, ...]
    texts: tuple[Argument, ...] = ()
    assignments: tuple[tuple[str, Argument], ...] = ()
    values: tuple[tuple[str, Argument], ...] = ()
    is_unsure: bool = False


def peeled(arguments: tuple[Argument, ...], wrapper: Wrapper) -> Peeled | None:
    """The parts of a wrapper's arguments; None where it wraps nothing here (`uv sync`)."""
    start = 0
    if wrapper.subcommand:
        found = _subcommand(arguments, wrapper)
        if found is None:
            return None
        start = found
    if wrapper.may_lead and arguments and not arguments[0].text.startswith("-"):
        start = 1
    if wrapper.needs_dashes:
        return _after_dashes(arguments, start, wrapper)
    parsing = _Parsing(arguments, wrapper, start)
    parsing.run()
    place = parsing.place
    assignments = []
    while wrapper.assigns and place < len(arguments):
        assigned = _ASSIGNMENT.fullmatch(arguments[place].text)
        if assigned is None:
            break
        assignments.append((assigned[1], Argument(assigned[2])))
        place += 1
    place = min(place + wrapper.operands, len(arguments))
    if wrapper.operands and place < len(arguments) and arguments[place].text == "--":
        place += 1
    texts = tuple(value for name, value in parsing.values if name in wrapper.texts)
    if wrapper.operands and len(arguments) > place + 1 and arguments[place].text in wrapper.texts:
        texts, place = (*texts, arguments[place + 1]), place + 2  # `flock FILE -c TEXT`
    return Peeled(
        arguments[:place],
        arguments[place:],
        texts,
        tuple(assignments),
        tuple(parsing.values),
        parsing.is_unsure,
    )


def _subcommand(arguments: tuple[Argument, ...], wrapper: Wrapper) -> int | None:
    for place, argument in enumerate(arguments[:_MAX_SUBCOMMAND_PLACE]):
        if argument.text in wrapper.subcommand:
            return place + 1
        is_value = place and arguments[place - 1].text.startswith("-")
        if not argument.text.startswith("-") and not is_value:
            return None
    return None


def _after_dashes(arguments: tuple[Argument, ...], start: int, wrapper: Wrapper) -> Peeled:
    parsing = _Parsing(arguments, wrapper, start)
    while parsing.place < len(arguments) and arguments[parsing.place].text not in wrapper.dashes:
        before = parsing.place
        parsing.run()
        parsing.place += parsing.place == before
    place = next((place for place, word in enumerate(arguments) if word.text in wrapper.dashes), len(arguments))
    texts = tuple(value for name, value in parsing.values if name in wrapper.texts)
    return Peeled(arguments[:place], arguments[place + 1 :], texts, (), tuple(parsing.values))


class _Parsing:
    def __init__(self, arguments: tuple[Argument, ...], wrapper: Wrapper, start: int) -> None:
        self.place = start
        self.values: list[tuple[str, Argument]] = []
        self.is_unsure = False
        self._arguments = arguments
        self._wrapper = wrapper

    def run(self) -> None:
        while self.place < len(self._arguments):
            argument = self._arguments[self.place]
            if argument.splits and argument.text == UNKNOWN:
                self.is_unsure = True
                return
            text = argument.text
            if not text.startswith("-") or text == "-":
                return
            if text in self._wrapper.dashes and self._wrapper.needs_dashes:
                return
            self.place += 1
            if text == "--":
                return
            if text.startswith("--") or text in self._wrapper.words | self._wrapper.texts:
                self._long(argument)
            else:
                self._short(argument)

    def _long(self, argument: Argument) -> None:
        name, equals, value = argument.text.partition("=")
        if equals:
            self.values.append((name, Argument(value)))
        elif name in self._wrapper.words or name in self._wrapper.texts:
            self._take(name)
        else:
            self.values.append((name, Argument("")))
            self.is_unsure = self.is_unsure or not self._wrapper.subcommand

    def _short(self, argument: Argument) -> None:
        letters = argument.text[1:]
        for place, letter in enumerate(letters):
            name = "-" + letter
            if letter not in self._wrapper.letters and name not in self._wrapper.texts:
                self.values.append((name, Argument("")))
                continue
            if place + 1 < len(letters):
                self.values.append((name, Argument(letters[place + 1 :])))
            else:
                self._take(name)
            return

    def _take(self, name: str) -> None:
        if self.place < len(self._arguments):
            self.values.append((name, self._arguments[self.place]))
            self.place += 1

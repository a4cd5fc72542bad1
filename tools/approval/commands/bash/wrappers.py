"""Programs that run what their arguments name: wrappers of another command, and runners of code in other forms."""

from __future__ import annotations

import re

from tools.approval.commands.bash import UNKNOWN, lines_of_table
from tools.approval.commands.bash.reading import Argument
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


def wrappers_of(table: str) -> dict[str, Wrapper]:
    """The wrappers in a table.

    A row is the names of programs; the letters (`-` for none) and longer options with a value; then, each in a column
    of its own, `operand`, `leads`, `assigns`, `shown`, `elsewhere`, `text` or `dashed` where the attribute holds, and
    `texts`, `subcommand` and `dashes` with their words.
    """
    found: dict[str, Wrapper] = {}
    for line in lines_of_table(table):
        names, options, *more = re.split(r"\s{2,}", line)
        letters, *words = options.split()
        sets = {name: frozenset(values.split()) for name, _, values in (each.partition(" ") for each in more)}
        none = frozenset[str]()
        wrapper = Wrapper(
            letters.strip("-"),
            frozenset(words),
            operands=int("operand" in sets),
            may_lead="leads" in sets,
            texts=sets.get("texts", none),
            assigns="assigns" in sets,
            is_shown="shown" in sets,
            elsewhere="elsewhere" in sets,
            is_text="text" in sets,
            subcommand=sets.get("subcommand", none),
            needs_dashes="dashed" in sets,
            dashes=sets.get("dashes", frozenset({"--"})),
        )
        found.update(dict.fromkeys(names.split(), wrapper))
    return found


# For scripts of the project `npm run` and its like have words of their own.
_RUN = "subcommand exec run x"
_ENVIRONMENT = (
    "--config-file --cwd --dir --directory --env --env-file --extra --from --group --index --index-url --name"
    " --no-group --package --prefix --project --python --refresh-package --with --with-editable --with-requirements"
)

WRAPPERS = wrappers_of(rf"""
    sudo  ughpCTRDrtU --chdir --chroot --close-from --command-timeout --group --host --other-user --prompt --role \
        --type --user  assigns
    doas  uC  assigns
    pkexec  - --user
    run0  uD --chdir --group --machine --nice --property --setenv --slice --unit --user
    please  ut --target --user
    calife gosu su-exec setlock setuidgid envdir  -  operand
    setpriv  - --ambient-caps --apparmor-profile --bounding-set --egid --euid --groups --inh-caps --pdeathsig \
        --regid --reset-env --reuid --rgid --ruid --securebits --selinux-label
    env  uCSP --chdir --split-string --unset  assigns
    cross-env  -  assigns
    cross-env-shell  -  assigns  text
    dotenv  fepc --export --file --override  assigns
    dotenvx  fe --env --env-file  {_RUN}
    direnv aws-vault rustup  -  operand  {_RUN}
    nohup setsid unbuffer chronic linux32 linux64 i386 x86_64 catchsegv command builtin noglob nocorrect coproc \
        busybox toybox dbus-launch torsocks torify eatmydata entr shx  -
    daemonize  acepolEu  shown
    start-stop-daemon  -  shown  dashed
    time gtime  fo --format --output  shown
    timeout gtimeout  ks --kill-after --signal  operand
    timelimit  TtSspq
    nice  n --adjustment
    ionice  cnpPu --class --classdata
    chrt  TPD  operand
    taskset  p  operand
    numactl  iNmCplH --cpunodebind --interleave --membind --physcpubind --preferred
    prlimit  po --output --pid
    choom  np --adjust --pid
    cpulimit  lpe --exe --limit --pid
    trickle  duwtlLnP
    stdbuf  ioe --error --input --output
    caffeinate  tw
    faketime  f  operand
    fakeroot  lsib --faked --lib
    setarch  -  leads
    arch  e
    strace  abeEIoOpPsSuUX --attach --env --expr --output --trace --user  shown
    ltrace  aAeDFlnopsuwxX --output  shown
    valgrind firejail  -  shown
    perf  eopCtGIr --event --output --repeat  shown  subcommand record stat trace
    hyperfine  wrmMSNnpcPDLu --command-name --export-csv --export-json --export-markdown --ignore-failure --input \
        --max-runs --min-runs --output --runs --shell --style --warmup  text  texts --cleanup --conclude --prepare \
        --setup -C -c -p -s
    exec  a
    flock  wEc --conflict-exit-code --timeout --wait  operand  texts --command -c
    lockf  t  operand
    watch  nqd --equexit --interval  text
    viddy  n --interval
    chroot  - --groups --userspec  operand  shown
    arch-chroot  uN  operand  shown
    proot  rbwqkcvR0S --bind --cwd --pwd --rootfs  shown
    unshare  RwSG --kill-child --map-group --map-user --propagation --root --setgid --setgroups --setuid --wd
    nsenter  tSGWZ --setgid --setuid --target --wd  shown
    bwrap  - --chdir --dev --dir --gid --hostname --proc --setenv --tmpfs --uid  shown
    systemd-run  puMHEGtqdrS --description --gid --host --machine --nice --on-active --on-boot --on-calendar \
        --on-startup --on-unit-active --property --service-type --setenv --slice --timer-property --uid --unit \
        --working-directory  shown
    systemd-cat  tp --identifier --level-prefix --priority --stderr-priority
    systemd-inhibit  - --mode --what --who --why
    dbus-run-session  - --config-file --dbus-daemon
    xvfb-run  nfepsl --auth-file --error-file --server-args --server-num
    proxychains proxychains4  f
    softlimit  acdflmoprst
    chpst  uUbegmdnopftcr012
    ssh-agent  aEtP
    script  cEImoOTB --echo --log-in --log-io --log-out --log-timing --output-limit  shown  dashed  texts --command \
        -c
    rlwrap  bcDfHlMOqrsSt
    reflex  rRgGdts  dashed
    watchexec  wefionsWEd --debounce --exts --filter --ignore --shell --signal --watch  text
    nodemon  wedi --delay --ext --ignore --watch  texts --exec -x
    concurrently  nclpm --max-processes --names --prefix --prefix-colors  text
    op  -  dashed  {_RUN}
    doppler  pct  texts --command  {_RUN}
    infisical  -  texts --command  {_RUN}
    chamber  -  operand  dashed  {_RUN}
    vagrant  c  shown  elsewhere  texts --command -c  subcommand ssh
    pssh parallel-ssh prsh  hHlpoetxXO --errdir --extra-arg --extra-args --host --hosts --option --outdir --par \
        --timeout --user  shown  elsewhere  text
    pdsh  wxgGltufRMFX  shown  elsewhere  text
    clush  wxgXltufRmO --conf --fanout --group --hostfile --mode --option --user --worker  shown  elsewhere  text
    dsh  mgrfoFn --file --forklimit --group --machine --remoteshell --remoteshellopt  shown  elsewhere  text
    docker-machine  -  operand  shown  elsewhere  text  subcommand ssh
    multipass  -  operand  shown  elsewhere  {_RUN}
    lxc incus  -  operand  shown  elsewhere  subcommand exec
    distrobox  n  dashed  subcommand enter
    toolbox  c  {_RUN}
    adb  sHPt  shown  elsewhere  text  subcommand shell
    wsl wsl.exe  du --cd --distribution --user
    nix  - --file --inputs-from -f  shown  dashed  subcommand develop shell  dashes -- --command -c
    nix-shell  pIA  shown  dashed  texts --command --run
    guix  -  shown  dashed  subcommand environment shell
    uv  pC {_ENVIRONMENT}  {_RUN}
    uvx  p {_ENVIRONMENT}
    pipx  - --index-url --pip-args --python --spec  {_RUN}
    poetry  CP {_ENVIRONMENT}  {_RUN}
    pipenv rye bundle rbenv pyenv asdf  -  {_RUN}
    pdm  p {_ENVIRONMENT}  {_RUN}
    pixi  e --environment --manifest-path  {_RUN}
    hatch  ep {_ENVIRONMENT}  {_RUN}
    tox  e  dashed  subcommand exec
    conda mamba  np {_ENVIRONMENT}  {_RUN}
    micromamba  npr {_ENVIRONMENT}  {_RUN}
    mise  CEj --cd --env --jobs  dashed  texts --command -c  subcommand dlx exec x
    rtx  CEj --cd --env --jobs  texts --command -c  {_RUN}
    npm pnpm yarn bun  pCw --cwd --dir --filter --package --prefix --workspace  texts --call -c  subcommand dlx \
        exec x
    npx pnpx bunx  p --package --prefix --workspace  texts --call -c
    xcrun  - --sdk --toolchain -sdk -toolchain
    opam  -  dashed  subcommand exec
    stack cabal lerna  -  subcommand exec
    mix  -  subcommand cmd
""")
"""Those which change who runs a command, where, how long or how fast, or what it sees."""

CARRIERS = wrappers_of(r"""
    ssh autossh slogin  BbcDEeFIiJLlmOopQRSWw  operand
    rsh  l  operand
    mosh  p  operand
    sshpass  pfde
    xargs  aEILnPsdJRS --arg-file --delimiter --eof --max-args --max-chars --max-lines --max-procs \
        --process-slot-var
    parallel  jaINnlLCSPsEd --arg-file --basefile --block --colsep --delay --delimiter --env --halt --joblog --jobs \
        --load --max-args --max-procs --memfree --nice --recend --recstart --results --retries --return --shuf \
        --sshlogin --sshloginfile --tagstring --timeout --tmpdir --trim --wd --workdir
    docker-run  acehlmpuvw --add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent \
        --cgroupns --cidfile --cpu-shares --cpus --cpuset-cpus --detach-keys --device --dns --domainname \
        --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --hostname --index --ip --ipc \
        --isolation --label --link --log-driver --log-opt --mac-address --memory --memory-swap --mount --name --net \
        --network --network-alias --pid --pids-limit --platform --publish --pull --restart --runtime --security-opt \
        --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts \
        --volume --volumes-from --workdir  operand
    docker-exec  euw --detach-keys --env --env-file --index --user --workdir  operand
""")
"""Those that readers of their own use."""

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

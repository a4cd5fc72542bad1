"""What wrappers run is found behind them, with what they do to it."""

from tests.support.each import each
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import Invocation


def _inner(command: str, program: str = "rm") -> Invocation:
    found = [found for found in read_command(command).invocations if found.program == program]
    assert found, read_command(command)
    return found[0]


@each(
    "wrapper",
    [
        "sudo", "sudo -n", "sudo -u name", "sudo -iu name --", "sudo --user=name", "sudo --user name", "sudo A=1",
        "sudo -E env A=1", "doas -u name", "pkexec", "env", "env -i A=1 B=2", "env -u HOME", "/usr/bin/env",
        "nohup", "setsid -f", "time", "time -p", "/usr/bin/time -v", "/usr/bin/time -f %e", "timeout 5",
        "timeout -k 5 -s KILL 10s", "timeout --signal=KILL 10", "gtimeout 5", "nice", "nice -n 10", "nice -10",
        "ionice -c 3", "ionice -c2 -n7", "chrt -f 10", "taskset 0x3", "taskset -c 0,1", "stdbuf -oL", "stdbuf -o L",
        "unbuffer", "chronic", "caffeinate -i", "strace -f -o log", "strace -e trace=file", "ltrace", "valgrind -q",
        "command", "command -p", "builtin", "exec", "exec -a name", "busybox", "toybox", "coproc", "flock lock",
        "flock -n lock", "flock -w 5 lock", "chroot /srv/root", "unshare -r", "unshare --mount", "nsenter -t 1 -m",
        "systemd-run --user", "systemd-run --scope -p A=B", "systemd-inhibit --what=idle", "fakeroot",
        "setarch x86_64",
        "faketime yesterday", "numactl -N 0", "prlimit --nproc=10", "xvfb-run -a", "dbus-run-session --",
        "runuser -u name --", "gosu name", "su-exec name", "setpriv --reuid=1", "proxychains4 -q", "torsocks",
        "npx", "npx -y", "npx --yes", "npx -p pkg", "npm exec --", "npm x", "pnpm exec", "pnpm dlx", "yarn dlx",
        "yarn exec", "bunx", "bun x", "uv run", "uv run --with x", "uv run -p 3.12", "uv --directory d run", "uvx",
        "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "hatch -e dev run", "pipx run",
        "conda run -n e",
        "mamba run", "micromamba run -n e", "bundle exec", "mise exec --", "mise x node@20 --", "direnv exec .",
        "rbenv exec", "pyenv exec", "asdf exec", "cross-env A=1", "dotenv -f .env", "nix develop -c", "shx",
        "nix-shell -p x --run", "script -c", "su -c", "su name -c", "su - name -c", "sh -c", "dash -c",
        "fish -c", "ksh -c",
        "watch -n 1", "hyperfine -w 3", "xargs", "xargs -0 -n 1", "xargs -P 4", "find . -exec", "find . -execdir",
        "find . -ok", "fd x -x", "fd x --exec-batch", "fd -Hx", "fd -tx -X",
        "parallel", "git bisect run", "git rebase -x", "wsl",
        "wsl -d name",
        "aws-vault exec name --", "op run --", "doppler run --", "nodemon --exec", "entr", "watchexec -w src",
    ],
)  # fmt: skip
def test_the_command_behind_a_wrapper_is_found(wrapper: str) -> None:
    takes_text = wrapper.endswith((" -c", "--run", "--exec")) or "rebase" in wrapper
    is_text = takes_text and not wrapper.startswith("nix develop")
    told = _inner(f"{wrapper} 'rm -rf x'" if is_text else f"{wrapper} rm -rf x")

    assert [word.text for word in told.arguments][:2] == ["-rf", "x"]
    assert told.via or wrapper.startswith("time")


@each(
    ("command", "is_elsewhere"),
    [
        ("ssh example.com rm x", True),
        ("ssh -p 22 -i key name@example.com 'cd /srv && rm x'", True),
        ("ssh -o StrictHostKeyChecking=no example.com -- rm x", True),
        ("ssh example.com <<'EOF'\nrm x\nEOF", True),
        ("ssh -o ProxyCommand='rm x' example.com", False),
        ("docker exec -it -u root web rm x", True),
        ("docker run --rm -v /srv:/srv -w /srv alpine:3 rm x", True),
        ("docker run --rm alpine sh -c 'rm x'", True),
        ("docker compose -f c.yml exec web rm x", True),
        ("docker --context far container exec web rm x", True),
        ("docker run --entrypoint rm alpine x", True),
        ("podman exec web rm x", True),
        ("kubectl exec -n ns pod/web -c app -- rm x", True),
        ("kubectl -n ns exec -it web rm x", True),
        ("vagrant ssh -c 'rm x'", True),
        ("adb shell rm x", True),
        ("lxc exec web -- rm x", True),
        ("sudo chroot /srv rm x", False),
    ],
)
def test_other_machines_are_told_from_this_one(command: str, is_elsewhere: bool) -> None:
    told = _inner(command)

    assert (told.elsewhere, [word.text for word in told.arguments]) == (is_elsewhere, ["x"])


def test_wrappers_are_named_from_the_outside_in() -> None:
    told = _inner("sudo -u name env A=1 timeout 5 /bin/rm y")

    assert (told.via, told.written) == (("sudo", "env", "timeout"), "/bin/rm")
    assert [(name, value.text) for name, value in told.assignments] == [("A", "1")]


@each(
    ("command", "program"),
    [
        ("npm run build", "npm"),
        ("uv sync", "uv"),
        ("poetry install", "poetry"),
        ("docker ps", "docker"),
        ("kubectl get pods", "kubectl"),
        ("command -v rm", "command"),
        ("sudo -l", "sudo"),
        ("bash -n script.sh", "bash"),
        ("bash script.sh rm", "bash"),
        ("mise install", "mise"),
    ],
)
def test_what_wraps_nothing_is_a_program_itself(command: str, program: str) -> None:
    reading = read_command(command)

    assert [found.program for found in reading.invocations] == [program]
    assert not reading.doubts


def test_what_xargs_is_given_is_put_in_where_it_is_known() -> None:
    assert [word.text for word in _inner("printf 'a\\nb' | xargs rm -f").arguments] == ["-f", "a", "b"]
    assert _inner("ls | xargs rm").adds_unknown
    assert [word.text for word in _inner("env -S 'rm -f' x").arguments] == ["-f", "x"]


def test_an_option_that_nobody_knows_hides_no_command() -> None:
    assert "rm" in {found.program for found in read_command("nice --new-option value rm x").invocations}
    assert "rm" in {found.program for found in read_command("sudo $OPTIONS rm x").invocations}


def test_command_looks_past_the_function_of_its_name() -> None:
    assert _inner('rm() { command rm -i "$@"; }; rm x').via == ("rm()", "command")

"""`hermes-acp models --try`, against models on the loopback that do what they should, or do not."""

import io
import json
from pathlib import Path

import pytest

from acp_adapter.cli import model_probes
from acp_adapter.cli.model_probes import PROBES, fit_for
from tests.support.each import each
from tests.support.model_server import ModelServer, Reply, Status, ToolCall, Usage
from tests.support.settings_files import configure
from tests.support.subcommands import main_of

main = main_of("models")

NAMES = [probe.name for probe in PROBES]
SHOP = "def total(prices):\n    return sum(prices)\n"


def use(name, **arguments):
    return ToolCall("", name, arguments)


DOES = {
    "notes.txt": [[use("read_file", path="notes.txt")], "It is marmalade."],
    "colors.txt": [[use("patch", path="colors.txt", old_string="sky: green", new_string="sky: blue")], "Done."],
    "shop.py": [[use("patch", path="shop.py", old_string="# below\n", new_string=f"# below\n{SHOP}")], "Done."],
    "settings.txt": [
        [
            use(
                "patch",
                path="settings.txt",
                edits=[
                    {"old_string": "red", "new_string": "green"},
                    {"old_string": "small", "new_string": "large"},
                ],
            )
        ],
        "Done.",
    ],
    "one.txt": [[use("read_file", path="one.txt"), use("read_file", path="two.txt")], "12"],
    "send_email": ["I have no such tool."],
    "copy.txt": [[use("write_file", path="copy.txt", content=model_probes.LONG)], "Done."],
    "odd.txt": [[use("write_file", path="odd.txt", content=model_probes.ODD)], "Done."],
    "20 + 22": ["42"],
    "missing.txt": [[use("read_file", path="missing.txt")], [use("read_file", path="backup.txt")], "Lisbon."],
}
"""What a good model does for a task whose prompt has that word."""


def good(request, does=DOES):
    """The next step of the task that the request is about."""
    messages = request.body["messages"]
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    steps = next(steps for word, steps in does.items() if word in prompt)
    step = steps[sum(message["role"] == "assistant" for message in messages)]
    if isinstance(step, str):
        return Reply(step, usage=Usage(100, 5))
    calls = [ToolCall(f"c{request.number}-{n}", call.name, call.arguments) for n, call in enumerate(step)]
    return Reply(tool_calls=calls, usage=Usage(100, 5))


def talks(_):
    return Reply("Sure! I would call read_file and say 42.", usage=Usage(100, 5))


@pytest.fixture
def run(capsys, monkeypatch):
    def run(*arguments, typed=None):
        stdin = io.StringIO(typed or "")
        stdin.isatty = lambda: typed is not None
        monkeypatch.setattr("sys.stdin", stdin)
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def serve(home):
    servers = []

    def serve(default):
        servers.append(ModelServer(default=default))
        model = {"provider": "custom", "base_url": servers[-1].base_url, "default": "other", "api_key": "sk-test"}
        configure(home, {"model": model})
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def test_try_tells_a_good_model_to_be_fit_and_touches_only_folders_of_its_own(serve, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = serve(good)
    code, out, err = run("--try", "test-model", "--yes")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "10 tasks for test-model. They take about" in lines[0]
    assert [line.split()[0] for line in lines[1:11]] == ["passed"] * 10, out
    assert lines[-1] == "custom:test-model: It is fit for an agent's work: everything passed."
    assert "10 of 10 passed. It took 1,900 and 95 tokens." in out
    assert {request.body["model"] for request in server.requests} == {"test-model"}
    assert list(tmp_path.iterdir()) == []
    names = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert {"read_file", "patch", "write_file"} <= names
    assert "terminal" not in names


def test_try_tells_what_a_model_failed_at_as_json(serve, run):
    sloppy = {**DOES, "copy.txt": [[use("write_file", path="copy.txt", content="Line 0 …")], "Done."]}
    serve(lambda request: good(request, {**sloppy, "one.txt": [[use("read_file", path="one.txt")], "About 12."]}))
    code, out, err = run("--try", "custom:test-model", "--yes", "--json")
    told = json.loads(out)
    assert (code, told["model"], told["passed"]) == (0, "custom:test-model", 8)
    assert "They take about" in err
    failed = {probe["name"]: probe["why"] for probe in told["probes"] if not probe["passed"]}
    assert failed == {"parallel": "it called read_file", "long argument": "it called write_file"}
    assert told["fit_for"] == "It is fit for an agent's work, with care: it failed at parallel, long argument."


def test_try_tells_a_model_that_only_talks_to_be_fit_for_that(serve, run):
    serve(talks)
    code, out, _ = run("--try", "test-model", "--yes")
    assert code == 0
    assert "FAILED  read " in out
    assert "It is fit for talk, not for work" in out
    assert "--jinja" in out


def test_try_asks_before_it_spends_tokens(serve, run):
    server = serve(good)
    code, out, _ = run("--try", "test-model", typed="n\n")
    assert (code, out.endswith("Try it? [y/N] Nothing was asked.\n")) == (1, True)
    code, _, err = run("--try", "test-model")
    assert code == 2
    assert "Add --yes" in err
    assert server.requests == []
    assert run("--try", "test-model", typed="y\n")[0] == 0


def test_try_says_why_a_model_cannot_be_asked(serve, run):
    server = serve(Status(401, {"error": {"message": "No such key."}}))
    code, out, err = run("--try", "test-model", "--yes")
    assert (code, len(server.requests)) == (1, 1)
    assert "passed" not in out
    assert "401" in err or "key" in err


@each(
    ("arguments", "says"),
    [
        (("--try", "offline", "--provider", "offline"), "nothing to try"),
        (("--try", "x", "--local"), "give one of them"),
        (("--yes",), "go with --try"),
        (("--json",), "go with --try"),
    ],
)
def test_try_refuses_what_makes_no_sense(serve, run, arguments, says):
    serve(talks)
    code, _, err = run(*arguments)
    assert code in {1, 2}
    assert says in err


def outcomes(*failed):
    return [
        model_probes.Outcome(probe, "no" if probe.name in failed else "", model_probes.Seen(Path()))
        for probe in PROBES
    ]


@each(
    ("failed", "says"),
    [
        ((), "everything passed"),
        (("unicode", "parallel"), "with care: it failed at parallel, unicode."),
        (("edit", "unicode"), "not fit for an agent's work: it failed at edit."),
        (tuple(NAMES), "fit for talk"),
        (tuple(name for name in NAMES if name not in {"no call", "unknown tool"}), "fit for talk"),
    ],
)
def test_try_says_what_a_model_is_fit_for(failed, says):
    assert says in fit_for(outcomes(*failed))


def test_try_has_ten_tasks():
    assert len(PROBES) == len(set(NAMES)) == 10
    assert 3_000 < len(model_probes.LONG) < 6_000

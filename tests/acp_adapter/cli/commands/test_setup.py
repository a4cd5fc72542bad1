"""`hermes-acp setup`: at a real terminal and without one, against a model server on the loopback."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values

from acp_adapter.cli.setup.choices import Wanted, choose_key, choose_server, offers
from agent_core.config import Configuration, load
from agent_core.home import Home
from agent_core.providers.model_listing import discover_local
from agent_core.providers.resolve import resolve_model
from agent_core.providers.sign_out import SignedOut
from tests.support.fake_sign_ins import TOKEN, FakeSignIns
from tests.support.list_server import ListServer, model_list
from tests.support.model_server import ModelServer, Reply, Status
from tests.support.settings_files import configure
from tests.support.subcommands import main_of
from tests.support.terminal import Terminal
from tests.support.typed_lines import Script
from tests.support.waiting import wait_until
from tools.os_compat import lock, open_to_lock

main = main_of("setup")

MAIN = [sys.executable, "-P", "-m", "acp_adapter", "setup"]
KEY = "sk-test-0123456789"
VARIABLE = "HERMES_KEY_127_0_0_1"


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs it in this process, with no terminal."""

    def run(*arguments: str, stdin: str = "", **env: str) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return run


@pytest.fixture
def given(run: Run) -> Run:
    return functools.partial(run, "--non-interactive")


def settings(home: Path) -> Any:
    return yaml.safe_load((home / "config.yaml").read_text())


def variables(home: Path) -> dict[str, str | None]:
    return dict(dotenv_values(home / ".env", interpolate=False))


def files(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def answering(model_server: ModelServer) -> ModelServer:
    model_server.add(Reply("ready"))
    return model_server


def test_the_person_is_asked_for_server_key_and_model_and_all_of_it_works(home: Path, answering: ModelServer) -> None:
    SignedOut(Home(home)).mark()
    # No editor is here that could be offered.
    with Terminal(MAIN, {**os.environ, "TERM": "dumb", "PATH": "/nowhere"}) as terminal:
        terminal.read_until("A number or a name: ")
        terminal.type("custom\n")
        terminal.read_until("address, as in")
        terminal.type(f"{answering.base_url}\n")
        terminal.read_until("(not shown): ")
        terminal.type(f"{KEY}\n")
        terminal.read_until("a part of one: ")
        terminal.type("other\n")
        terminal.read_until("whether it works? [Y/n]: ")
        terminal.type("\n")
        terminal.read_until("Enter for none: ")
        terminal.type("2\n")
        terminal.read_until("TAVILY_API_KEY; empty for none (not shown): ")
        terminal.type("tvly-test-0123456789\n")
        terminal.read_until("Another? Enter for none: ")
        terminal.type("\n")
        assert terminal.end() == 0
        assert "custom:other-model answers." in terminal.text
        assert KEY not in terminal.text
    assert settings(home) == {
        "model": {
            "provider": "custom",
            "default": "other-model",
            "base_url": answering.base_url,
            "key_env": VARIABLE,
        }
    }
    assert variables(home) == {VARIABLE: KEY, "TAVILY_API_KEY": "tvly-test-0123456789"}
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert (home / "config.yaml").stat().st_mode & 0o777 == 0o600
    assert [(request.body["model"], request.headers["authorization"]) for request in answering.requests] == [
        ("other-model", f"Bearer {KEY}")
    ]
    assert not SignedOut(Home(home)).is_set()
    choice = resolve_model(load(Home(home)))
    assert (choice.name, choice.api_key, choice.base_url) == ("custom:other-model", KEY, answering.base_url)


@pytest.mark.parametrize("at", ["A number or a name: ", "(not shown): ", "whether it works? [Y/n]: "])
@pytest.mark.parametrize("how", ["interrupt", "end of input"])
def test_who_leaves_has_changed_nothing(at: str, how: str, home: Path, answering: ModelServer) -> None:
    SignedOut(Home(home)).mark()
    configure(home, {"agent": {"max_turns": 3}})
    before = files(home)
    steps = {
        "A number or a name: ": "custom\n",
        "address, as in http://127.0.0.1:8000/v1: ": f"{answering.base_url}\n",
        "(not shown): ": f"{KEY}\n",
        "a part of one: ": "other-model\n",
    }
    with Terminal(MAIN, {**os.environ, "TERM": "dumb"}) as terminal:
        for prompt, answer in steps.items():
            if prompt == at:
                break
            terminal.read_until(prompt)
            terminal.type(answer)
        terminal.read_until(at)
        if how == "interrupt":
            terminal.interrupt()
        else:
            terminal.type("\x04")
        assert terminal.end() == 130
        assert "Nothing was changed." in terminal.text
    assert files(home) == before


def test_who_leaves_at_the_editors_is_told_that_the_settings_are_written(home: Path) -> None:
    (Path.home() / ".config/zed").mkdir(parents=True)
    given = ("--provider", "openai", "--model", "gpt-5", "--key-env", "A_KEY", "--key-store", "file", "--skip-test")
    with Terminal([*MAIN, *given], {**os.environ, "TERM": "dumb", "A_KEY": KEY}) as terminal:
        terminal.read_until("Zed")
        terminal.read_until("]: ")
        terminal.type("\x04")
        assert terminal.end() == 130
        assert "What is told above as written stays" in terminal.text
        assert "Nothing was changed" not in terminal.text
    assert variables(home) == {"OPENAI_API_KEY": KEY}


def test_no_earlier_backup_is_written_over(home: Path, given: Run) -> None:
    (home / "config.yaml").write_text("agent: {max_turns: 3}\n")
    (home / "config.yaml.bak").write_text("mine")
    model = ("--provider", "openai", "--model", "gpt-5", "--key-env", "A_KEY", "--skip-test")
    assert given(*model, A_KEY=KEY).returncode == 0
    assert (home / "config.yaml.bak").read_text() == "mine"
    assert (home / "config.yaml.bak1").read_text() == "agent: {max_turns: 3}\n"


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux, which tells who waits for a lock")
def test_settings_are_read_and_written_with_the_home_locked(home: Path, given: Run) -> None:
    descriptor, inode = open_to_lock(home), home.stat().st_ino
    lock(descriptor)
    model = ("--provider", "openai", "--model", "x", "--key-env", "A_KEY", "--skip-test")

    def waits() -> bool:
        return any("->" in line and f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines())

    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(given, *model, A_KEY=KEY)
        try:
            wait_until(waits)
            (home / "config.yaml").write_text("agent: {max_turns: 3}\n")
        finally:
            os.close(descriptor)
        assert ran.result().returncode == 0
    assert settings(home)["agent"] == {"max_turns": 3}
    assert settings(home)["model"]["default"] == "x"


def test_a_model_that_does_not_answer_is_told_before_anything_is_written(
    home: Path, model_server: ModelServer
) -> None:
    model_server.add(Status(401, "No such key."))
    arguments = ("--provider", "custom", "--base-url", model_server.base_url, "--model", "test-model")
    with Terminal([*MAIN, *arguments], {**os.environ, "TERM": "dumb"}) as terminal:
        terminal.read_until("(not shown): ")
        terminal.type("\n")
        terminal.read_until("whether it works? [Y/n]: ")
        terminal.type("y\n")
        terminal.read_until("all the same? [y/N]: ")
        assert "No such key." in terminal.text
        terminal.type("\n")
        assert terminal.end() == 1
    assert files(home) == {}


def test_without_a_terminal_it_asks_nothing_and_says_what_to_do(home: Path, run: Run) -> None:
    ended = run()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--non-interactive" in ended.stderr
    assert files(home) == {}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--provider", "openai"), "--model"),
        (("--model", "gpt-5"), "--provider"),
        (("--provider", "openai", "--model", "m", "--key-env", "NOT_SET_HERE"), "NOT_SET_HERE"),
        (("--provider", "openai", "--model", "m", "--key-stdin"), "holds no key"),
        (("--provider", "openai", "--model", "m", "--key-stdin", "--key-env", "A"), "not allowed"),
    ],
)
def test_a_wrong_command_line_is_told(arguments: tuple[str, ...], told: str, home: Path, given: Run) -> None:
    ended = given(*arguments)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert files(home) == {}


@pytest.mark.parametrize("source", ["env", "stdin"])
def test_a_script_gives_the_key_unseen(source: str, home: Path, given: Run) -> None:
    arguments = ("--provider", "claude", "--model", "claude-sonnet-4-5", "--skip-test")
    if source == "env":
        ended = given(*arguments, "--key-env", "MY_KEY", MY_KEY=KEY)
    else:
        ended = given(*arguments, "--key-stdin", stdin=f"{KEY}\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert KEY not in ended.stdout
    assert settings(home) == {"model": {"provider": "anthropic", "default": "claude-sonnet-4-5"}}
    assert variables(home) == {"ANTHROPIC_API_KEY": KEY}


def test_a_script_has_the_model_tried_and_nothing_written_if_it_fails(
    home: Path, model_server: ModelServer, given: Run
) -> None:
    model_server.add(Status(401, "No such key."), Reply("ready"))
    arguments = ("--provider", "custom", "--base-url", model_server.base_url, "--model", "test-model", "--key-stdin")
    ended = given(*arguments, stdin=KEY)
    assert ended.returncode == 1
    assert "No such key." in ended.stderr
    assert "--skip-test" in ended.stderr
    assert files(home) == {}
    assert given(*arguments, stdin=KEY).returncode == 0
    assert settings(home)["model"]["default"] == "test-model"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--provider", "opennai", "--model", "m"), "openai"),
        (("--provider", "openai", "--model", "m"), "OPENAI_API_KEY"),
        (("--provider", "openai", "--model", "m"), "--key-stdin"),
        (("--provider", "custom", "--model", "m"), "base_url"),
        (("--provider", "custom", "--model", "m", "--base-url", "llm.example.com"), "http"),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_written(
    arguments: tuple[str, ...], told: str, home: Path, given: Run
) -> None:
    ended = given(*arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert told in ended.stderr
    assert files(home) == {}


def test_another_server_takes_the_place_of_the_old_one_and_the_rest_stays(home: Path, given: Run) -> None:
    old = """\
# my settings
model:
  provider: custom
  default: old  # slow
  base_url: http://llm.example.com/v1
  api_key: sk-old
agent:
  max_turns: 3
"""
    (home / "config.yaml").write_text(old)
    (home / "config.yaml").chmod(0o640)
    (home / ".env").write_text("# keys\nOTHER=1\nGROQ_API_KEY=sk-older\n")
    (home / ".env").chmod(0o644)
    ended = given("--provider", "groq", "--model", "kimi-k2", "--key-stdin", "--skip-test", stdin=KEY)
    assert ended.returncode == 0, ended.stderr
    assert (
        (home / "config.yaml").read_text()
        == """\
# my settings
model:
  provider: groq
  default: kimi-k2  # slow
  # base_url: http://llm.example.com/v1
  # api_key: sk-old
agent:
  max_turns: 3
"""
    )
    assert (home / "config.yaml.bak").read_text() == old
    assert (home / ".env").read_text() == f"# keys\nOTHER=1\nGROQ_API_KEY={KEY}\n"
    modes = {name: (home / name).stat().st_mode & 0o777 for name in ("config.yaml", "config.yaml.bak", ".env")}
    assert modes == {"config.yaml": 0o640, "config.yaml.bak": 0o640, ".env": 0o600}
    choice = resolve_model(load(Home(home)))
    assert (choice.name, choice.api_key, choice.base_url) == (
        "groq:kimi-k2",
        KEY,
        "https://api.groq.com/openai/v1",
    )


def test_a_new_model_of_the_same_server_leaves_what_is_the_servers(home: Path, given: Run) -> None:
    configure_text = (
        "model:\n  base_url: http://127.0.0.1:9/v1\n  default: old\n  context_length: 8192\n  max_tokens: 99\n"
    )
    (home / "config.yaml").write_text(configure_text)
    ended = given("--provider", "custom", "--model", "new", "--skip-test")
    assert ended.returncode == 0, ended.stderr
    assert settings(home)["model"] == {
        "provider": "custom",
        "base_url": "http://127.0.0.1:9/v1",
        "default": "new",
        "max_tokens": 99,
    }
    assert not (home / ".env").exists()


def test_a_new_key_takes_the_place_of_one_in_the_settings(home: Path, given: Run) -> None:
    (home / "config.yaml").write_text("model:\n  provider: openai\n  default: m\n  api_key: sk-old\n")
    assert given("--provider", "openai", "--model", "m", "--key-stdin", "--skip-test", stdin=KEY).returncode == 0
    assert resolve_model(load(Home(home))).api_key == KEY


def test_the_same_again_changes_no_settings(home: Path, given: Run) -> None:
    arguments = ("--provider", "ollama", "--model", "qwen:7b", "--skip-test")
    assert given(*arguments).returncode == 0
    before = files(home)
    assert given(*arguments).returncode == 0
    assert files(home) == before


def test_settings_in_braces_are_left_alone_and_the_lines_to_put_in_are_told(home: Path, given: Run) -> None:
    configure(home, {"model": {"provider": "custom", "base_url": "http://127.0.0.1:9/v1", "default": "old"}})
    before = files(home)
    ended = given("--provider", "openai", "--model", "gpt-5", "--key-stdin", "--skip-test", stdin=KEY)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "model:\n  provider: openai\n  default: gpt-5\n" in ended.stderr
    assert "OPENAI_API_KEY=YOUR-KEY" in ended.stderr
    assert "model.base_url" in ended.stderr
    assert KEY not in ended.stderr
    assert files(home) == before


def test_links_to_settings_elsewhere_stay_links(home: Path, tmp_path: Path, given: Run) -> None:
    (tmp_path / "config.yaml").write_text("agent:\n  max_turns: 3\n")
    (home / "config.yaml").symlink_to(tmp_path / "config.yaml")
    assert given("--provider", "ollama", "--model", "m", "--skip-test").returncode == 0
    assert (home / "config.yaml").is_symlink()
    assert settings(home)["model"]["provider"] == "ollama"


def test_what_goes_before_the_settings_is_told(home: Path, given: Run) -> None:
    arguments = ("--provider", "openai", "--model", "m", "--key-stdin", "--skip-test")
    ended = given(*arguments, stdin=KEY, OPENAI_API_KEY="sk-other", HERMES_PROVIDER="groq")
    assert ended.returncode == 0
    assert "HERMES_PROVIDER is set in the environment" in ended.stdout
    assert "OPENAI_API_KEY is set in the environment to another key" in ended.stdout


@pytest.fixture
def config(home: Path) -> Configuration:
    configure(home, {"providers": {"work": {"base_url": "https://llm.example.com/v1"}}})
    return load(Home(home))


def test_servers_on_this_machine_come_first_then_the_users_own_then_the_known_ones(config: Configuration) -> None:
    with ListServer({"/v1/models": model_list("m", owned_by="vllm")}) as server:
        offered = offers(config, discover_local({"vllm": (server.port,)}))
    names = [offer.provider for offer in offered]
    assert names[:3] == ["vllm", "work", "openai"]
    assert names[-1] == "custom"
    assert "codex" not in names
    chosen = choose_server(config, Script("1"), offered)
    assert (chosen.provider, chosen.base_url) == ("vllm", f"{server.origin}/v1")


def test_a_service_whose_key_is_there_comes_first_and_needs_no_more_than_enter(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    (home / ".env").write_text("MISTRAL_API_KEY=sk-other\n")
    config = load(Home(home))
    offered = offers(config, ())
    assert [(offer.provider, offer.text) for offer in offered[:2]] == [
        ("mistral", "Mistral (there is a key: MISTRAL_API_KEY)"),
        ("groq", "Groq (there is a key: GROQ_API_KEY)"),
    ]
    assert choose_server(config, Script(""), offered).provider == "mistral"


def test_a_server_is_chosen_by_number_name_or_alias_and_what_nobody_knows_is_asked_again(
    config: Configuration,
) -> None:
    offered = offers(config, ())
    person = Script("99", "", "opennai", "codex", "claude")
    assert choose_server(config, person, offered).provider == "anthropic"
    assert any("Did you mean" in text for text in person.heard)
    assert any("sign-in" in text for text in person.heard)
    assert choose_server(config, Script("1"), offered).provider == "work"


def test_who_has_no_key_yet_is_told_where_one_is_made(config: Configuration) -> None:
    person = Script(KEY)
    choose_key(config, person, Wanted("openai"))
    assert any("https://platform.openai.com/api-keys" in text for text in person.heard)


def test_an_address_is_asked_for_where_only_the_person_knows_it(config: Configuration) -> None:
    person = Script("azure", "nonsense", "https://mine.openai.azure.com/openai/v1/")
    assert choose_server(config, person, ()).base_url == "https://mine.openai.azure.com/openai/v1"
    assert any("cannot be used" in text for text in person.heard)


def test_a_sign_in_is_offered_and_tried_before_the_model_is_chosen(
    config: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        person = Script("azure-entra", "https://mine.openai.azure.com/openai/v1")
        wanted = choose_server(config, person, offers(config, ()))
        assert choose_key(config, person, wanted) == wanted
    assert any("azure-entra" in offer.provider for offer in offers(config, ()))
    assert person.heard[-2:] == ["\nSigning in at Microsoft Entra ID …", "Signed in."]
    assert len(fake.asked) == 1


def test_where_a_key_is_possible_too_it_goes_before_the_sign_in(
    config: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        server = Wanted("anthropic-foundry", "https://mine.services.ai.azure.com/anthropic")
        assert choose_key(config, Script(KEY), server).key == KEY
        assert fake.asked == []
        assert choose_key(config, Script(""), server) == server
        assert len(fake.asked) == 1


def test_a_sign_in_that_fails_is_told_and_tried_again_as_often_as_one_wants(
    config: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter((True, False))
    person = Script()
    monkeypatch.setattr(person, "agrees", lambda prompt, **_: next(answers))
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        fake.refusal = (400, {"error": "invalid_request"})
        choose_key(config, person, Wanted("azure-entra", "https://mine.openai.azure.com/openai/v1"))
    assert len([text for text in person.heard if "az login" in text]) == 2


def test_a_script_sets_up_a_cloud_whose_model_is_asked_with_the_sign_in(
    home: Path, given: Run, answering: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{answering.port}/anthropic"
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        done = given("--provider", "claude-foundry", "--model", "claude-x", "--base-url", address)
    assert done.returncode == 0, done.stderr
    assert settings(home) == {"model": {"provider": "anthropic-foundry", "default": "claude-x", "base_url": address}}
    assert answering.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_model_name_with_a_line_break_is_refused_and_nothing_is_written(run: Run, home: Path) -> None:
    ended = run(
        "--non-interactive", "--provider", "openai", "--model", "gpt\n5", "--key-stdin", "--skip-test", stdin=KEY
    )
    assert ended.returncode == 1
    assert "cannot be seen" in ended.stderr
    assert not (home / "config.yaml").exists()

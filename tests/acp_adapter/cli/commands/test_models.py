"""`hermes-acp models`, against lists of models on the loopback."""

import subprocess

import pytest

from acp_adapter.cli.models import show_servers
from tests.support.list_server import Fixed, ListServer, model_list
from tests.support.settings_files import configure
from tests.support.subcommands import main_of, start_of

main = main_of("models")

MAIN = start_of("models")
KEY = "sk-test-0123456789"
NEXT = (
    "Next: to use one, set model.provider: custom and model.default: NAME in {}/config.yaml; "
    'to try one: hermes-acp prompt --provider custom --model NAME "Hello".'
)


@pytest.fixture
def run(capsys):
    def run(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def server():
    with ListServer({"/v1/models": model_list("small", "large", context_length=131072)}) as server:
        yield server


def set_up(home, server, **model):
    values = {"provider": "custom", "base_url": f"{server.origin}/v1", "default": "large", "api_key": KEY, **model}
    configure(home, {"model": {name: value for name, value in values.items() if value is not None}})


def test_the_configured_servers_models_are_listed_and_the_configured_one_marked(home, server, run):
    set_up(home, server)
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"custom ({server.origin}/v1): 2 models",
        "",
        "  model  context  in  cached  out",
        "  small  131,072   -       -    -",
        "* large  131,072   -       -    -",
        "",
        NEXT.format(home),
    ]
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_windows_and_prices_are_aligned_and_unknown_ones_are_dashes(home, server, run):
    pricing = {"prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0"}
    server.answers["/v1/models"] = Fixed(
        {"data": [{"id": "priced", "context_length": 1048576, "pricing": pricing}, {"id": "a-longer-name"}]}
    )
    set_up(home, server)
    assert run()[1].splitlines()[2:5] == [
        "  model            context   in  cached  out",
        "  priced         1,048,576  2.5       0   10",
        "  a-longer-name          -    -       -    -",
    ]


def test_a_configured_model_that_the_server_does_not_have_is_told(home, server, run):
    set_up(home, server, default="huge")
    assert "The configured model, huge, is not among them.\n" in run()[1]


def test_the_list_needs_no_chosen_model(home, server, run):
    set_up(home, server, default=None)
    code, out, _ = run()
    assert code == 0
    assert "  large " in out
    assert "*" not in out


def test_another_providers_models_are_listed_when_it_is_named(home, server, run):
    configure(
        home,
        {
            "model": {"provider": "openai", "default": "gpt-4o", "api_key": KEY},
            "providers": {"work": {"base_url": f"{server.origin}/v1", "api_key": "sk-work"}},
        },
    )
    code, out, _ = run("--provider", "work")
    assert code == 0
    assert out.startswith(f"work ({server.origin}/v1): 2 models\n")
    assert "*" not in out
    assert server.asked[0].headers["authorization"] == "Bearer sk-work"


def test_a_server_that_fails_is_told_and_what_is_known_is_listed(home, server, run):
    server.answers["/v1/models"] = Fixed({"error": {"message": "No such key."}}, 401)
    set_up(home, server, provider="mistral", default="mistral-large-latest")
    code, out, err = run()
    assert code == 0
    assert "known without asking\n" in out
    assert "\n* mistral-large-latest " in out
    assert "answered 401" in err
    assert "«No such key.»" in err
    assert KEY not in out + err


def test_without_a_key_what_is_known_is_listed(home, run):
    code, out, err = run("--provider", "claude")
    assert code == 0
    assert out.startswith("anthropic: ")
    assert "ANTHROPIC_API_KEY" in err


def test_a_server_that_fails_and_of_which_nothing_is_known_is_an_error(home, server, run):
    server.answers.clear()
    set_up(home, server)
    code, out, err = run()
    assert (code, out) == (1, "")
    assert err.startswith(f"hermes-acp models: custom ({server.origin}/v1) answered 404")


def test_a_server_without_models_is_an_error(home, server, run):
    server.answers["/v1/models"] = model_list()
    set_up(home, server)
    code, out, err = run()
    assert (code, out) == (1, "")
    assert "has no models. Load one" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no model is configured"),
        (("--provider", "opnai"), "Did you mean openai"),
        (("--provider", "offline"), "offers no list"),
        (("--profile", "../other"), "profile's name"),
    ],
)
def test_what_cannot_be_listed_is_an_error_that_says_what_to_do(arguments, words, run):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("hermes-acp models: ")
    assert words in err


@pytest.mark.parametrize("arguments", [("--local", "--provider", "openai"), ("openai",), ("--prov", "openai")])
def test_a_wrong_command_line_exits_with_two(arguments, run):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "usage: hermes-acp models" in err


def test_names_cannot_steer_the_terminal(home, server, run):
    server.answers["/v1/models"] = model_list("\x1b[2Jwiped\u202e", "two\nlines")
    set_up(home, server)
    out = run()[1]
    assert "\x1b" not in out
    assert "  wiped " in out
    assert "  two ... " in out


def test_a_reader_that_leaves_is_no_failure_to_tell(home, server):
    server.answers["/v1/models"] = model_list(*(f"model-{number:06}" for number in range(5_000)))
    set_up(home, server)
    with subprocess.Popen(MAIN, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(50) == 1


def test_local_servers_are_listed_with_their_models_and_how_to_use_one(capsys):
    many = [f"m{number}" for number in range(13)]
    with (
        ListServer({"/v1/models": model_list(*many, owned_by="vllm")}) as vllm,
        ListServer({"/v1/models": model_list(), "/api/version": Fixed({"version": "1"})}) as ollama,
    ):
        code = show_servers({"vllm": [vllm.port], "ollama": [ollama.port]}, "/srv/config.yaml")
        assert capsys.readouterr().out.splitlines() == [
            "Model servers on this machine:",
            "",
            f"  vllm    {vllm.origin}/v1  {', '.join(many[:12])}, ...",
            f"  ollama  {ollama.origin}/v1  no models yet",
            "",
            "Next: to use one, set model.provider: vllm and model.default: NAME in /srv/config.yaml.",
        ]
    assert code == 0


def test_a_local_server_of_an_unknown_kind_is_used_by_its_address(capsys):
    with ListServer({"/v1/models": model_list("m")}) as server:
        assert show_servers({"vllm": [server.port]}, "/srv/config.yaml") == 0
        assert f"model.provider: custom, model.base_url: {server.origin}/v1 and" in capsys.readouterr().out


def test_where_no_local_server_answers_the_ports_and_the_next_step_are_told(capsys):
    with ListServer({}) as server:
        code = show_servers({"vllm": [server.port], "ollama": []}, "/srv/config.yaml")
        assert f"(vllm {server.port}, ollama )" in capsys.readouterr().err
    assert code == 1

"""Which models a server says it has, and what is shown when it does not say."""

from dataclasses import replace

import pytest

from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.model_listing import MAX_BYTES, known_listing, list_models
from agent_core.providers.pricing import facts_of, known_models
from tests.support.choices import choice_for
from tests.support.list_server import Fixed, ListServer, Silence, model_list

KEY = "sk-test-0123456789"
PATH = "/v1/models"


@pytest.fixture
def serve():
    """Start a server with these answers; a single one is the list's."""
    servers = []

    def serve(answer, path=PATH):
        servers.append(ListServer(answer if isinstance(answer, dict) else {path: answer}))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def ask(server, timeout=5.0, path="/v1", **options):
    return list_models(choice_for(server.origin + path, **options), timeout=timeout)


def names(listing):
    return [model.id for model in listing.models]


def test_the_servers_own_list_is_live_and_in_its_order(serve):
    listing = ask(serve(model_list("zeta", "alpha")))
    assert (names(listing), listing.source, listing.problem) == (["zeta", "alpha"], "live", None)
    assert [model.facts for model in listing.models] == [ModelFacts(), ModelFacts()]


@pytest.mark.parametrize(
    "body",
    [
        [{"id": "a"}, {"id": "b"}],
        {"models": [{"id": "a"}, {"id": "b"}]},
        {"data": [{"id": "a"}, None, {"id": 7}, {"name": "nameless"}, {"id": ""}, "text", {"id": "b"}]},
    ],
)
def test_lists_of_other_forms_are_read_and_entries_without_a_name_left_out(serve, body):
    assert names(ask(serve(Fixed(body)))) == ["a", "b"]


def test_an_empty_list_is_a_list(serve):
    listing = ask(serve(model_list()))
    assert (listing.models, listing.source, listing.problem) == ((), "live", None)


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [("bearer", "authorization", f"Bearer {KEY}"), ("x-api-key", "x-api-key", KEY), ("api-key", "api-key", KEY)],
)
def test_the_key_goes_where_requests_send_it_and_nowhere_else(serve, auth, header, value):
    server = serve(model_list("a"))
    ask(server, api_key=KEY, dialect=Dialect(auth=auth), headers=(("X-Title", "ours"),))
    sent = server.asked[0].headers
    assert {name: text for name, text in sent.items() if KEY in text} == {header: value}
    assert sent["x-title"] == "ours"


def test_without_a_key_none_is_sent(serve):
    server = serve(model_list("a"))
    ask(server)
    assert not {"authorization", "x-api-key", "api-key"} & set(server.asked[0].headers)


def test_anthropics_list_is_read_to_its_last_page(serve):
    first = Fixed({"data": [{"id": "a"}, {"id": "b"}], "has_more": True})
    second = Fixed({"data": [{"id": "c", "max_input_tokens": 9000}], "has_more": False})
    server = serve({"/v1/models?limit=1000": first, "/v1/models?limit=1000&after_id=b": second})
    listing = ask(server, path="", api_mode="anthropic_messages", api_key=KEY, dialect=Dialect(auth="x-api-key"))
    assert names(listing) == ["a", "b", "c"]
    assert listing.models[2].context_length == 9000
    assert {(asked.headers["x-api-key"], asked.headers["anthropic-version"]) for asked in server.asked} == {
        (KEY, "2023-06-01")
    }


def test_a_list_whose_pages_never_end_ends(serve):
    again = Fixed({"data": [{"id": "a"}], "has_more": True})
    server = serve({"/v1/models?limit=1000": again, "/v1/models?limit=1000&after_id=a": again})
    assert set(names(ask(server, path="", api_mode="anthropic_messages"))) == {"a"}


@pytest.mark.parametrize(
    "field", ["context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"]
)
def test_a_window_that_the_server_tells_is_a_fact_with_the_list_as_its_source(serve, field):
    server = serve(model_list("a", **{field: 12345}))
    facts = ask(server).models[0].facts
    assert facts == ModelFacts(context_length=12345, source=f"{server.origin}{PATH}")


@pytest.mark.parametrize("value", [0, -1, True, "4096", None, 1.5, [1]])
def test_a_window_that_is_no_number_of_tokens_is_unknown(serve, value):
    assert ask(serve(model_list("a", context_length=value))).models[0].context_length is None


def test_what_the_server_tells_goes_before_what_the_data_say(serve):
    known = facts_of("openai", "gpt-4o")
    server = serve(model_list("gpt-4o", "gpt-4o-mini-of-tomorrow", context_length=777))
    told, new = (model.facts for model in ask(server, provider="openai").models)
    assert told == replace(known, context_length=777, source=f"{server.origin}{PATH}; {known.source}")
    assert new == ModelFacts(context_length=777, source=f"{server.origin}{PATH}")


PRICING = {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002", "image": "0.1"}


@pytest.mark.parametrize(
    ("pricing", "prices"),
    [
        (PRICING, (2.0, 10.0, 0.2, None)),
        ({"prompt": "0", "completion": "0"}, (0.0, 0.0, None, None)),
        ({"prompt": "-1", "completion": "nan"}, (None, None, None, None)),
        ({"prompt": 2, "completion": "much"}, (None, None, None, None)),
        ({**PRICING, "overrides": [{"above": 200000}]}, (None, None, None, None)),
        ("free", (None, None, None, None)),
    ],
)
def test_prices_are_read_as_openrouter_gives_them(serve, pricing, prices):
    facts = ask(serve(model_list("maker/new", pricing=pricing)), provider="openrouter").models[0].facts
    assert (facts.input_price, facts.output_price, facts.cached_price, facts.written_price) == prices


def test_geminis_names_are_those_that_the_settings_hold(serve):
    listing = ask(serve(model_list("models/gemini-2.5-pro")), provider="gemini")
    assert names(listing) == ["gemini-2.5-pro"]
    assert listing.models[0].facts == facts_of("gemini", "gemini-2.5-pro")


FAILURES = [
    pytest.param(Fixed({"error": {"message": "Invalid key."}}, 401), "answered 401", "«Invalid key.»", id="401"),
    pytest.param(Fixed(b"nothing here", 404), "answered 404", "model.base_url", id="404"),
    pytest.param(Fixed(b"<html>broken</html>", 502), "answered 502", "Try again later", id="502"),
    pytest.param(Fixed(b"", 307, {"Location": "/elsewhere"}), "answered 307", "model.base_url", id="redirect"),
    pytest.param(Fixed(b"<html>Welcome</html>"), "no list of models", "not JSON", id="a page"),
    pytest.param(Fixed(b"\xff\xfe\x00"), "no list of models", "not JSON", id="no text"),
    pytest.param(Fixed(b"[" * 100_000), "no list of models", "not JSON", id="endless nesting"),
    pytest.param(Fixed({"object": "list"}), "no list of models", "«data»", id="no list"),
    pytest.param(Fixed({"data": {"id": "a"}}), "no list of models", "«data»", id="an object for the list"),
    pytest.param(Fixed(b"null"), "no list of models", "«data»", id="null"),
    pytest.param(Fixed({"data": [{"name": "a"}]}), "no list of models", "«id»", id="no ids"),
    pytest.param(Fixed({"data": [{"id": "a"}]}, cut=True), "could not be asked", "base_url", id="cut off"),
    pytest.param(Fixed(b" " * (MAX_BYTES + 1)), "more than 8 MiB", "", id="too large"),
]


@pytest.mark.parametrize(("answer", "happened", "detail"), FAILURES)
def test_a_list_that_fails_is_replaced_by_the_known_names_and_says_why(serve, answer, happened, detail):
    server = serve(answer, path="/v1/models?limit=1000")
    listing = ask(server, provider="anthropic", path="", api_mode="anthropic_messages")
    assert listing.source == "catalog"
    assert tuple(names(listing)) == known_models("anthropic")
    assert listing.models[0].facts == facts_of("anthropic", listing.models[0].id)
    assert listing.problem.startswith(f"anthropic ({server.origin}) ")
    assert happened in listing.problem
    assert detail in listing.problem


@pytest.mark.parametrize("answer", [Silence(), Fixed(b'{"data": [', drip=True)], ids=["silent", "dripping"])
def test_a_server_that_takes_too_long_is_given_up(serve, answer):
    listing = ask(serve(answer), timeout=0.2)
    assert listing.source == "catalog"
    assert "within 0.2 s" in listing.problem


def test_a_server_that_is_not_there_is_told(refused_port):
    listing = list_models(choice_for(f"http://127.0.0.1:{refused_port}/v1"))
    assert listing.models == ()
    assert f"127.0.0.1:{refused_port}/v1) could not be asked for its models" in listing.problem


def test_a_server_that_repeats_the_key_does_not_get_it_shown(serve):
    answer = Fixed({"error": {"message": f"The key {KEY} is wrong."}}, 401)
    assert "«The key [key] is wrong.»" in ask(serve(answer), api_key=KEY).problem


def test_a_password_in_the_address_is_not_shown(serve):
    server = serve(model_list("a", context_length=5))
    address = server.origin.replace("//", "//me:secret@") + "/v1?key=hidden"
    shown = repr(list_models(choice_for(address)))
    assert "secret" not in shown
    assert "hidden" not in shown


@pytest.mark.parametrize(
    ("provider", "api_mode"),
    [("azure", "chat_completions"), ("bedrock", "bedrock_converse"), ("offline", "offline")],
)
def test_a_server_without_a_list_is_not_asked(serve, provider, api_mode):
    server = serve(model_list("a"))
    listing = ask(server, provider=provider, api_mode=api_mode, api_key=KEY)
    assert server.asked == []
    assert listing.source == "catalog"
    assert tuple(names(listing)) == known_models(provider)
    assert "offers no list" in listing.problem


def test_the_list_is_asked_for_through_the_proxy(serve, monkeypatch):
    proxy = serve(model_list("far-away"), path="http://models.example/v1/models")
    monkeypatch.setenv("http_proxy", proxy.origin)
    assert names(list_models(choice_for("http://models.example/v1"))) == ["far-away"]


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch):
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    listing = list_models(choice_for("https://models.example/v1"))
    assert "https_proxy" in listing.problem


def test_a_server_of_the_users_own_at_a_vendors_address_is_that_vendors():
    listing = list_models(choice_for("https://models.github.ai/inference", provider="work"))
    assert "offers no list" in listing.problem


def test_without_any_server_the_known_names_are_there():
    listing = known_listing("openai", "There is no key.")
    assert (listing.source, listing.problem) == ("catalog", "There is no key.")
    assert tuple(names(listing)) == known_models("openai")

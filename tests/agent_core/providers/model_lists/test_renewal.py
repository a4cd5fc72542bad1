"""Asking the servers for their models again."""

from __future__ import annotations

import json
import threading

import pytest

from agent_core.home import Home
from agent_core.providers.available_models import FILE_NAME, ModelLists, Renewal
from agent_core.providers.model_listing import ModelListing, list_models
from tests.support.list_server import Fixed, ListServer, Silence, model_list
from tests.support.sample_configuration import configuration


@pytest.fixture
def serve():
    servers = []

    def serve(answer):
        servers.append(ListServer({"/v1/models": answer}))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def settings(**servers):
    providers = {
        name: {"base_url": f"{server.origin}/v1", "model": f"{name}-own"} for name, server in servers.items()
    }
    return {"model": {"provider": next(iter(servers))}, "providers": providers}


def names(lists, config):
    return {provider.name: [model.name for model in provider.models] for provider in lists.offered(config)}


def run(home, config, ask=list_models):
    lists, told = ModelLists(Home(home)), []
    Renewal(lists, ask).run(config, lambda: told.append(names(lists, config)))
    return lists, told


def test_the_lists_of_all_servers_are_fetched_and_what_changed_is_told_once(home, serve):
    config = configuration(home, settings(one=serve(model_list("a", "text-embedding-x")), two=serve(model_list("b"))))
    lists, told = run(home, config)
    assert told == [{"one": ["one-own", "a"], "two": ["two-own", "b"]}]
    assert names(lists, config) == told[-1]


def test_a_second_process_finds_them_and_asks_nobody(home, serve):
    server = serve(model_list("a"))
    config = configuration(home, settings(one=server))
    run(home, config)
    lists, told = run(home, config)
    assert (len(server.asked), told) == (1, [])
    assert names(lists, config) == {"one": ["one-own", "a"]}


def test_a_list_that_says_nothing_new_is_not_told(home, serve):
    _, told = run(home, configuration(home, settings(one=serve(model_list("one-own")))))
    assert told == []


def test_a_server_that_fails_offers_what_is_configured_and_is_not_asked_at_once_again(home, serve):
    server = serve(Fixed(b"no", 500))
    config = configuration(home, settings(one=server))
    run(home, config)
    lists, told = run(home, config)
    assert (len(server.asked), told, names(lists, config)) == (1, [], {"one": ["one-own"]})


def test_a_silent_server_delays_no_other(home, serve):
    slow, quick = serve(Silence()), serve(model_list("b"))
    config = configuration(home, settings(one=slow, two=quick))
    lists = ModelLists(Home(home))
    heard, end = threading.Event(), threading.Event()

    def ask(choice):
        if choice.provider == "two":
            return list_models(choice)
        end.wait(10)
        return ModelListing((), "catalog", "silent")

    worker = threading.Thread(target=Renewal(lists, ask).run, args=(config, heard.set))
    worker.start()
    try:
        assert heard.wait(5)
        assert names(lists, config)["two"] == ["two-own", "b"]
    finally:
        end.set()
        worker.join()


def test_two_runs_at_once_are_one(home, serve):
    server = serve(model_list("a"))
    config = configuration(home, settings(one=server))
    lists, inside, go = ModelLists(Home(home)), threading.Event(), threading.Event()

    def ask(choice):
        inside.set()
        go.wait(10)
        return list_models(choice)

    renewal = Renewal(lists, ask)
    worker = threading.Thread(target=renewal.run, args=(config, lambda: None))
    worker.start()
    assert inside.wait(5)
    renewal.run(config, lambda: pytest.fail("the second run did something"))
    go.set()
    worker.join()
    assert len(server.asked) == 1


def test_what_comes_after_the_end_is_not_kept(home, serve):
    config = configuration(home, settings(one=serve(model_list("a"))))
    lists = ModelLists(Home(home))

    def ask(choice):
        renewal.close()
        return list_models(choice)

    renewal = Renewal(lists, ask)
    renewal.run(config, lambda: pytest.fail("told after the end"))
    assert not (home / FILE_NAME).exists()
    renewal.run(config, lambda: pytest.fail("run after the end"))


def test_neither_keys_nor_addresses_passwords_come_into_the_file(home, serve):
    server = serve(model_list("a"))
    own = {"base_url": f"http://me:hidden@127.0.0.1:{server.port}/v1", "api_key": "sk-hidden"}
    config = configuration(home, {"model": {"provider": "work", "default": "m"}, "providers": {"work": own}})
    run(home, config)
    text = (home / FILE_NAME).read_text(encoding="utf-8")
    assert "hidden" not in text
    assert [*json.loads(text)["lists"]] == [f"work http://127.0.0.1:{server.port}/v1"]

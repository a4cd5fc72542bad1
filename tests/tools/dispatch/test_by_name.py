"""Tools that are not in the model's list: found, described, and called by their names."""

import json

from tests.support.each import each
from tools.registry import ToolEntry, registry
from tools.toolsets import (
    CALL_BY_NAME,
    DIRECT,
    MORE_TOOLS,
    called,
    find,
    load_builtin_tools,
    meant,
    more_tools_entry,
    small_choice,
)


def entry(name, about="Does it.", toolset="some", *, required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolEntry(name, toolset, schema, lambda *_, **__: "", about)


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PLAIN = entry("skills_list", "List skills. All of them.")
SEARCH = entry("web_search", "Search the web.", query=TEXT, limit=NUMBER, required=("query",))
TODO = entry("todo", "The plan.", items={"type": "array"}, required=("items",))
ALL = (PLAIN, SEARCH, TODO)


@each(
    ("given", "call"),
    [
        ({"name": "web_search", "arguments": {"query": "x"}}, ("web_search", {"query": "x"})),
        # As small models write it: arguments as text, or beside the name.
        ({"name": "web_search", "arguments": '{"query": "x"}'}, ("web_search", {"query": "x"})),
        ({"name": "web_search", "query": "x", "limit": 3}, ("web_search", {"query": "x", "limit": 3})),
        ({"name": "skills_list"}, ("skills_list", {})),
        ({"name": "skills_list", "arguments": {}}, ("skills_list", {})),
        # What is wrong with the arguments is the tool's own matter.
        ({"name": "web_search", "arguments": {"limit": "many"}}, ("web_search", {"limit": "many"})),
        # One that is in the list may be called so as well.
        ({"name": "read_file", "arguments": {"path": "a"}}, ("read_file", {"path": "a"})),
        # Questions, not calls.
        ({}, None),
        ({"query": "web"}, None),
        ({"name": "web_search"}, None),
        ({"name": "web_search", "arguments": "x"}, None),
        ({"name": "web_search", "what": "x"}, None),
        ({"name": "nothing", "arguments": {}}, None),
        ({"name": ["web_search"], "arguments": {}}, None),
    ],
)
def test_more_tools_is_a_call_where_it_names_a_tool_with_arguments(given, call):
    load_builtin_tools()
    assert called(given, ALL) == call


def answered(**arguments):
    return more_tools_entry(ALL).handler(arguments)


def test_more_tools_lists_describes_and_finds():
    assert answered().text == "skills_list: List skills.\nweb_search: Search the web.\ntodo: The plan."
    found = json.loads(answered(query="web").text)
    assert (found["name"], found["arguments"]["required"]) == ("web_search", ["query"])
    assert '"required": ["query"]' in answered(name="web_search").text
    unknown = answered(name="websearch", arguments={})
    assert unknown.failed
    assert "There is no tool 'websearch'" in unknown.text


def test_more_tools_tells_what_servers_say_as_their_words():
    entries = (PLAIN, entry("mcp__mail__send", "Send mail.", "mcp-mail"))
    assert more_tools_entry(entries).handler({"query": "mail"}).untrusted
    assert not more_tools_entry(entries).handler({"query": "skills"}).untrusted


def test_more_tools_names_what_there_is_and_stays_short():
    pages = [entry(f"browser_{name}", toolset="browser") for name in ("back", "click", "press", "scroll", "type")]
    told = more_tools_entry((*pages, PLAIN)).description
    assert told.startswith("Further tools: browser_*, skills_list. ")
    many = [entry(f"{number}_tool_of_a_long_name", toolset=f"set{number}") for number in range(300)]
    told = more_tools_entry(many).description
    assert " more. Give" in told
    assert len(told) < 900


def test_small_choice_leaves_out_what_fills_a_small_window():
    load_builtin_tools()
    tools = [entry for entry in registry.entries() if not entry.source]
    _, behind = small_choice([each.definition() for each in tools], tools)
    names = {entry.name for entry in behind}
    assert {"todo", "delegate_task"} <= names
    assert names.isdisjoint({"browser_navigate", "skill_view", "skill_manage", "skills_list", "session_search"})
    few = [entry for entry in tools if entry.name in {"read_file", "session_search"}]
    told, _ = small_choice([each.definition() for each in few], few)
    assert [each["function"]["name"] for each in told] == ["read_file"]


def test_small_choice_leaves_few_tools_as_they_are():
    few = [PLAIN, SEARCH]
    assert small_choice([each.definition() for each in few], few) == ([each.definition() for each in few], ())


def test_small_choice_keeps_what_work_on_files_needs():
    tools = [*(entry(name, "x" * 1_000, path=TEXT) for name in DIRECT), *ALL]
    told, behind = small_choice([each.definition() for each in tools], tools)
    assert [each["function"]["name"] for each in told] == [*DIRECT, MORE_TOOLS]
    assert behind == ALL


def test_meant_is_the_tool_that_is_called_by_its_name():
    inner = {"name": "web_search", "arguments": {"query": "x"}}
    assert meant(MORE_TOOLS, inner) == meant(CALL_BY_NAME, inner) == ("web_search", {"query": "x"})
    assert meant(MORE_TOOLS, {"query": "x"}) == (MORE_TOOLS, {"query": "x"})
    assert meant("read_file", {"name": "x"}) == ("read_file", {"name": "x"})


def test_find_tells_what_there_is_where_nothing_fits():
    assert find(ALL, "zzz") == "No tool fits 'zzz'. There are: skills_list, web_search, todo."

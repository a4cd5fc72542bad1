"""What people and models type, as a question to the index."""

import random
import sqlite3

import pytest

from agent_core.sessions.search import parse
from agent_core.sessions.search_index import prepared
from tests.support.each import each
from tools.errors import ToolError

_ALL = ("user", "assistant", "tool")


@pytest.fixture(scope="module")
def index():
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE fts USING fts5 (user, assistant, tool, tokenize = 'unicode61 remove_diacritics 2')"
    )
    yield connection
    connection.close()


def _finds(index: sqlite3.Connection, query: str, text: str, *, any_of_them: bool = False) -> bool:
    words = parse(query)
    expression = words.any_of_them(_ALL) if any_of_them else words.all_of_them(_ALL)
    index.execute("DELETE FROM fts")
    index.execute("INSERT INTO fts (user, assistant, tool) VALUES (?, '', '')", (prepared(text),))
    return index.execute("SELECT 1 FROM fts WHERE fts MATCH ?", (expression,)).fetchone() is not None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("TIMEOUT", "a timeout"),
        ("cafe", "Café"),
        ("Café", "CAFE"),
        ("straße", "Straße"),
        ("second first", "first, then second"),
        ('"one two"', "three one two"),
        ("“one two”", "three one two"),
        ('"one two', "two one"),
        ("time*", "timeouts"),
        ("time*", "time"),
        ("get_user_na*", "get_user_name()"),
        ("one -two", "one three"),
        ('one -"two three"', "one three two"),
        ("don't", "Don't do that"),
        ("snake_case_name", "call snake_case_name(1)"),
        ("camelCaseName", "new camelCaseName;"),
        ("a.b.c", "import a.b.c"),
        ("src/app/main.py:12", "at src/app/main.py:12: error"),
        ("/srv/app", "cd /srv/app/x"),
        ("C:\\Users\\x", "in C:\\Users\\x"),
        ("--no-verify", "git commit --no-verify"),
        ("user@example.com", "mail user@example.com now"),
        ("foo(bar)", "foo(bar)"),
        ("std::vec", "std::vec<int>"),
        ("AND", "this and that"),
        ("NOT NULL", "is not null"),
        ("NEAR(a", "near a"),
        ("user: x", "user: x"),
        ("text 🚀", "text"),
        ("检", "全文检索"),
        ("检索", "全文检索"),
        ("全文检索引擎", "一个全文检索引擎。"),
        ("ー", "サーバー"),
        ("サーバ", "サーバーが落ちた"),
        ("ｻｰﾊﾞ", "サーバー"),
        ("の", "私の猫"),
        ("데이", "데이터베이스"),
        ("用SQLite", "我用SQLite做"),
        ("ภาษา", "เรียนภาษาไทย"),
        ("привет", "Привет, мир"),
        ("𠮷野家", "在𠮷野家吃饭"),
    ],
)
def test_it_is_found(index: sqlite3.Connection, query: str, text: str):
    assert _finds(index, query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("one two", "one"),
        ('"one two"', "two one"),
        ("time", "timeouts"),
        ("t*", "timeouts"),  # so short a beginning would be found nearly everywhere
        ("one -two", "one two"),
        ('one -"two three"', "one two three"),
        ("a.b.c", "c b a"),
        ("检索", "检查搜索"),
        ("索检", "全文检索"),
        ("snake_case", "case of a snake"),
    ],
)
def test_it_is_not_found(index: sqlite3.Connection, query: str, text: str):
    assert not _finds(index, query, text)


def test_any_of_the_words_can_be_asked_for(index: sqlite3.Connection):
    assert _finds(index, "one two", "two", any_of_them=True)
    assert not _finds(index, "one two -three", "two three", any_of_them=True)


def test_of_many_words_the_long_ones_are_alternatives(index: sqlite3.Connection):
    query = "a in the migration database schema version rollback failure"
    assert _finds(index, query, "rollback", any_of_them=True)
    assert not _finds(index, query, "in the", any_of_them=True)


def test_only_messages_of_the_roles_are_found(index: sqlite3.Connection):
    index.execute("DELETE FROM fts")
    index.execute("INSERT INTO fts (user, assistant, tool) VALUES ('', 'word', '')")

    def found(*roles):
        return index.execute("SELECT 1 FROM fts WHERE fts MATCH ?", (parse("word").all_of_them(roles),)).fetchone()

    assert found("user", "assistant")
    assert not found("user", "tool")


@each("query", ["", "  \n", "🚀", "*", '""', "-", "—", '"*" -', "\0", "…", "\ud800"])
def test_a_query_without_a_word_is_told_what_to_write(query: str):
    with pytest.raises(ToolError, match="Write words to look for"):
        parse(query)


def test_a_query_that_only_excludes_is_told_so():
    with pytest.raises(ToolError, match="only says what must not be there"):
        parse('-one -"two three"')


def test_no_input_is_a_syntax_error(index: sqlite3.Connection):
    dice = random.Random(7)
    signs = ['"', "'", "*", "-", "--", "(", ")", "{", "}", ":", "^", "+", "\0", "\\", " ", "\n", "AND", "OR", "NOT"]
    signs += ["NEAR", "user", "x", "中", "＂", "“", "é", "🚀", "\ud800", "%", "?", ";", "*abc*", "\u3099", "a" * 300]
    asked = 0
    for _ in range(3000):
        query = "".join(dice.choices(signs, k=dice.randint(1, 12)))
        try:
            words = parse(query)
        except ToolError:
            continue
        asked += 1
        for expression in (words.all_of_them(_ALL), words.any_of_them(("user",))):
            index.execute("SELECT 1 FROM fts WHERE fts MATCH ?", (expression,)).fetchall()
        words.pattern().search(query)
    assert asked > 1000


def test_a_pasted_page_is_a_bounded_question(index: sqlite3.Connection):
    words = parse(" ".join(f"word{number}" for number in range(10_000)))
    assert len(words.wanted) == 12
    index.execute("SELECT 1 FROM fts WHERE fts MATCH ?", (words.all_of_them(_ALL),)).fetchall()


@pytest.mark.parametrize(
    ("query", "text", "place"),
    [
        ("art", "start of art", "art"),
        ("snake_case", "a Snake_Case", "Snake_Case"),
        ('"one two"', "one, two", "one, two"),
        ("检索", "全文检索", "检索"),
    ],
)
def test_the_place_in_a_message_is_found_as_it_was_written(query: str, text: str, place: str):
    match = parse(query).pattern().search(text)
    assert match is not None
    assert (match[0], match.start()) == (place, text.rindex(place))

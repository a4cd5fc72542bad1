"""The outline of one file in each language."""

from __future__ import annotations

import random
from itertools import count

import pytest

from tests.support.each import each
from tests.support.grammars import needs
from tools.outline.languages import TONGUES, can_map, tongue_of
from tools.outline.parsing import BadOutline, Outline, Stopped, is_source, outline_of, unpacked

GO = b"""package a
type Stack struct {
	items []int
}
type Pusher interface {
	Push(item int) error
}
type Visit func(item int) bool
const Max = 3
func New[T any](size int,
	name string) (*Stack, error) { inner := func() {}; return make(size), nil }
func (s *Stack) Push(item int) error { return store.Keep(item) }
"""
JAVASCRIPT = b"""const fs = require('fs');
const { join } = require('path');
class Queue extends Base {
  push(item) { function local() {} }
  static of(items) { return new Queue(items); }
}
function start(port, host) { listen(port); }
exports.stop = function stop(now) { this.server.close(); };
const double = (n) => n * 2;
export const LIMIT = 5;
"""
BASH = b"""greet() { say "$1"; }
function leave { exit 0; }
"""
PYTHON = b"""from base import Base, thing as other
LIMIT: int = 4
class Queue(Base):  # waits
    @property
    def size(self) -> int:  # how long
        def local(): ...
        return len(self.items)
    async def push(
        self,
        item: Item,
        *more: Item,
    ) -> None:
        await self.store.keep(item)
type Pair = tuple[int, int]
"""
TYPESCRIPT = b"""import { Base } from "./base";
export interface Shape extends Named { area(unit: string): number; }
export type Pair<T> = { a: T; b: T };
export enum Color { Red }
export abstract class Circle<T> extends Base implements Shape {
  constructor(radius: number) { super(); }
  async area(unit: string): Promise<number> { return measure(this.radius); }
  abstract paint(): void;
}
export const twice = async (n: number): Promise<number> => n * 2;
"""
RUST = b"""use a::{Store, other::Thing};
pub struct Stack<T> { items: Vec<T> }
pub trait Pusher { fn push(&self, item: u8) -> bool; }
impl<T> Pusher for Stack<T> { fn push(&self, item: u8) -> bool { keep(item) } }
pub const MAX: usize = 3;
macro_rules! twice { () => {} }
pub async fn start(port: u16) -> Result<(), Error> { Store::open(port).run() }
"""
JAVA = b"""public class Stack<T> extends Base implements Pusher {
  @Override
  public void push(int item, String name) throws Full { new Store().keep(item); }
  enum Mode { A, B }
}
interface Pusher { void push(int item); }
"""
C = b"""#define TWICE(x) ((x) * 2)
typedef struct stack { int size; } stack_t;
static inline int *push(struct stack *s, int item) { return keep(s, item); }
int start(void);
"""
CPP = b"""namespace n {
template <typename T> class Stack : public Base { public: int push(int item) const; T* top(); };
int Stack::push(int item) const { return keep(item); }
}
"""
RUBY = b"""module Tools
  class Stack < Base
    def push(item, twice = false)
      keep(item)
    end
  end
end
"""
C_SHARP = b"""namespace N;
public class Stack : Base {
public int Size { get; set; } public async Task<Item> Push(Item item) { return Keep(item); } }
public interface IPush { void Push(); }
"""
PHP = b"""<?php
abstract class Stack extends Base { public function push(Item $item): ?Result { return $this->keep(new Thing()); } }
function start($port) { return listen($port); }
"""

CASES = {
    "go": (
        GO,
        [
            "2|Stack struct",
            "5|Pusher interface",
            "6|  Push(item int) error",
            "8|Visit func(item int) bool",
            "9|Max = 3",
            "10|func New[T any](size int, name string) (*Stack, error)",
            "12|func (s *Stack) Push(item int) error",
        ],
        {"make", "Keep"},
    ),
    "js": (
        JAVASCRIPT,
        [
            "3|class Queue extends Base",
            "4|  push(item)",
            "5|  static of(items)",
            "7|function start(port, host)",
            "8|exports.stop = function stop(now)",
            "9|double = (n) =>",
            "10|LIMIT = 5",
        ],
        {"Base", "Queue", "listen", "close", "join"},
    ),
    "sh": (BASH, ["1|greet()", "2|function leave"], {"say", "exit"}),
    "py": (
        PYTHON,
        [
            "2|LIMIT: int = 4",
            "3|class Queue(Base)",
            "5|  def size(self) -> int",
            "8|  async def push(self, item: Item, *more: Item) -> None",
            "14|type Pair = tuple[int, int]",
        ],
        {"Base", "thing", "keep", "Item"},
    ),
    "ts": (
        TYPESCRIPT,
        [
            "2|interface Shape extends Named",
            "2|  area(unit: string): number",
            "3|type Pair<T> = { a: T; b: T }",
            "4|enum Color",
            "5|abstract class Circle<T> extends Base implements Shape",
            "6|  constructor(radius: number)",
            "7|  async area(unit: string): Promise<number>",
            "8|  abstract paint(): void",
            "10|twice = async (n: number): Promise<number> =>",
        ],
        {"Base", "Shape", "Named", "measure"},
    ),
    "rs": (
        RUST,
        [
            "2|pub struct Stack<T>",
            "3|pub trait Pusher",
            "3|  fn push(&self, item: u8) -> bool",
            "4|impl<T> Pusher for Stack<T>",
            "4|  fn push(&self, item: u8) -> bool",
            "5|pub const MAX: usize = 3",
            "6|macro_rules! twice",
            "7|pub async fn start(port: u16) -> Result<(), Error>",
        ],
        {"Store", "keep", "open", "run"},
    ),
    "java": (
        JAVA,
        [
            "1|public class Stack<T> extends Base implements Pusher",
            "3|  public void push(int item, String name) throws Full",
            "4|  enum Mode",
            "6|interface Pusher",
            "6|  void push(int item)",
        ],
        {"Base", "Pusher", "Store", "keep", "Full"},
    ),
    "c": (
        C,
        [
            "1|#define TWICE(x) ((x) * 2)",
            "2|typedef struct stack … stack_t",
            "3|static inline int *push(struct stack *s, int item)",
            "4|int start(void)",
        ],
        {"keep", "stack"},
    ),
    "hpp": (
        CPP,
        [
            "2|class Stack : public Base",
            "2|  int push(int item) const",
            "2|  T* top()",
            "3|int Stack::push(int item) const",
        ],
        {"Base", "keep"},
    ),
    "rb": (
        RUBY,
        ["1|module Tools", "2|  class Stack < Base", "3|    def push(item, twice = false)"],
        {"Base", "keep"},
    ),
    "cs": (
        C_SHARP,
        [
            "2|public class Stack : Base",
            "3|  public int Size { get; set; }",
            "3|  public async Task<Item> Push(Item item)",
            "4|public interface IPush",
            "4|  void Push()",
        ],
        {"Base", "Item", "Keep"},
    ),
    "php": (
        PHP,
        [
            "2|abstract class Stack extends Base",
            "2|  public function push(Item $item): ?Result",
            "3|function start($port)",
        ],
        {"Base", "Item", "Result", "keep", "Thing", "listen"},
    ),
}


def lines(outline: Outline) -> list[str]:
    depths: list[int] = []
    told = []
    for definition in outline.definitions:
        depths.append(depths[definition.parent] + 1 if definition.parent >= 0 else 0)
        told.append(f"{definition.line}|{'  ' * depths[-1]}{definition.signature}")
    return told


def read(ending: str, text: bytes) -> Outline:
    return outline_of(text, needs(ending), lambda: False)


@each("ending", CASES)
def test_a_file_is_told_by_its_definitions_and_what_it_refers_to(ending: str):
    text, expected, referred = CASES[ending]
    outline = read(ending, text)
    assert lines(outline) == expected
    assert referred <= {*outline.references, *outline.members}
    assert unpacked(outline.packed()) == outline


@each("ending", sorted(TONGUES))
def test_every_grammar_takes_its_queries(ending: str):
    assert read(ending, b"\n") == Outline()


def test_what_is_called_on_something_is_a_member():
    outline = read("py", b"import a\na.b.run(stop())\n")
    assert (outline.references, outline.members) == ({"stop": 1}, {"b": 1, "run": 1})


@pytest.mark.parametrize(
    "text", [b"class (:\n" * 50, b"def f(\xff\xfe): pass\n", "def größe(): pass\n".encode(), b"((((" * 999]
)
def test_what_is_no_right_source_has_an_outline_all_the_same(text: bytes):
    outline = read("py", text)
    assert all(definition.line >= 1 for definition in outline.definitions)


def test_a_signature_is_cut_where_it_is_long():
    arguments = ", ".join(f"argument_{number}: int" for number in range(30))
    (definition,) = read("py", f"def f({arguments}): pass\n".encode()).definitions
    assert len(definition.signature) == 110
    assert definition.signature.endswith("…")


def test_parsing_ends_soon_when_it_is_to_stop():
    text = b"function f() { g(); }\n" * 20_000  # 440 kB
    asked = count(1)
    with pytest.raises(Stopped):
        outline_of(text, needs("js"), lambda: next(asked) > 3)
    assert next(asked) < 10


def test_binaries_and_squeezed_files_are_no_source():
    assert is_source(b"def f(): pass\n")
    assert is_source(b"")
    assert not is_source(b"def\0f")
    assert not is_source(b"a=1;" * 1000 + b"\n")


@pytest.mark.parametrize("data", [b"", b"rubbish", Outline().packed()[:-3]])
def test_stored_bytes_that_are_no_outline_are_told_apart(data: bytes):
    with pytest.raises(BadOutline):
        unpacked(data)


def test_files_are_known_by_their_ending_in_any_case():
    known = tongue_of("A.PY")
    assert known is not None
    assert known.name == "python"
    assert tongue_of("py") is tongue_of("x.py")
    assert tongue_of("notes.txt") is None


def test_a_map_needs_a_grammar_of_the_extra():
    needs("js")
    assert can_map()


@pytest.mark.parametrize("ending", ["tsx", "rb", "js"])
def test_rubbish_is_given_up_too(ending: str):
    pieces = random.Random(1)
    text = "".join(pieces.choice("{}()[]<>\"'`x=\n/*#;: ") for _ in range(400_000)).encode()
    asked = count(1)
    with pytest.raises(Stopped):
        outline_of(text, needs(ending), lambda: next(asked) > 30)
    assert next(asked) < 100

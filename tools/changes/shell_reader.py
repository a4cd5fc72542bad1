"""Reads a shell text into simple commands. Nothing runs, every text can be read, and the effort is bounded.

What is seldom in an agent's commands (arithmetic, arrays, functions, `case`) is not followed exactly; such a script
is marked as not certain, and so is one that was too long to be read to its end.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tools.changes.shell_syntax import Redirect, Script, Simple, Subshell, Word
from tools.changes.shell_words import Budget, TooMuch, WordReader
from tools.light_dataclass import dataclass

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"\n|&&|\|\||;;&|;&|;;|;|&>>|&>|&|\|&|\||<<<|<<-|<<|<>|<&|<|>>|>&|>\||>|\(|\)")
_REDIRECTS = frozenset({"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"})
_MAX_CHARS = 1 << 18


def read_script(text: str) -> Script:
    """The commands in `text`, as far as it could be read."""
    shell_text = text[:_MAX_CHARS]
    reader = _ScriptReader(WordReader(shell_text, Budget(), _nested))
    script = reader.read(0)
    return script if len(shell_text) == len(text) else Script(script.items, is_certain=False)


def _nested(words: WordReader, *, closed: bool) -> Script:
    """The script at the word reader's place: up to the closing parenthesis, or to the end of the text."""
    depth = 1 if closed else 0
    script = _ScriptReader(words).read_strictly(depth)
    if closed and words.at < len(words.text):
        words.at += 1
    return script


@dataclass(slots=True)
class _Document:
    """A `<<` whose text comes after the line; `item` and `place` tell which redirection of which command it is."""

    strips_tabs: bool
    delimiter: Word
    place: int
    item: int = -1


class _ScriptReader:
    def __init__(self, words: WordReader) -> None:
        self._in = words
        self._items: list[Simple | Subshell] = []
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._documents: list[_Document] = []
        self._is_piped = False
        self._is_certain = True
        self._open = 0

    def read(self, depth: int) -> Script:
        try:
            return self.read_strictly(depth)
        except TooMuch:
            self._end_command()
            return Script(tuple(self._items), is_certain=False)

    def read_strictly(self, depth: int) -> Script:
        """Read up to the parenthesis that closes what was open before (`depth` 1), or to the end of the text."""
        while self._in.at < len(self._in.text):
            self._in.budget.spend()
            if not self._one(is_nested=depth > 0):
                break
        else:
            self._is_certain = self._is_certain and depth == 0 and self._open == 0
        self._end_command()
        # A document that never began is empty, as it is to the shell.
        return Script(tuple(self._items), self._is_certain and self._in.is_certain and not self._documents)

    def _one(self, *, is_nested: bool) -> bool:
        """Take one token; False at the parenthesis that ends a nested script."""
        reader = self._in
        if blank := _BLANK.match(reader.text, reader.at):
            reader.at = blank.end()
            return True
        if comment := _COMMENT.match(reader.text, reader.at):
            reader.at = comment.end()
            return True
        if reader.text.startswith(("<(", ">("), reader.at):
            self._words.append(reader.word())
            return True
        operator = _OPERATOR.match(reader.text, reader.at)
        if operator is None:
            self._take_word()
            return True
        if operator[0] == ")" and is_nested and not self._open:
            return False
        reader.at = operator.end()
        self._operator(operator[0])
        return True

    def _take_word(self) -> None:
        word = self._in.word()
        next_char = self._in.text[self._in.at : self._in.at + 1]
        if next_char in {"<", ">"} and (word.bare or "").isdecimal():
            return  # the number of a file descriptor
        if word.bare == "case" and not self._words:
            self._is_certain = False
        self._words.append(word)

    def _operator(self, operator: str) -> None:
        if operator in _REDIRECTS:
            self._redirect(operator)
            return
        if operator == "(":
            # After a word this is a function or an array.
            self._is_certain = self._is_certain and not self._words
        self._end_command()
        if operator == "(":
            self._open += 1
            self._items.append(Subshell(begins=True))
        elif operator == ")":
            self._is_certain = self._is_certain and self._open > 0
            self._open = max(0, self._open - 1)
            self._items.append(Subshell(begins=False))
        elif operator == "\n":
            self._read_documents()
        self._is_piped = operator in {"|", "|&"}

    def _redirect(self, operator: str) -> None:
        reader = self._in
        if blank := _BLANK.match(reader.text, reader.at):
            reader.at = blank.end()
        is_process = reader.text.startswith(("<(", ">("), reader.at)
        target = Word(()) if _OPERATOR.match(reader.text, reader.at) and not is_process else reader.word()
        if not target.parts:
            self._is_certain = False
        if operator in {"<<", "<<-"}:
            self._documents.append(_Document(operator == "<<-", target, len(self._redirects)))
        self._redirects.append(Redirect(operator, target))

    def _read_documents(self) -> None:
        documents, self._documents = self._documents, []
        for document in documents:
            body = self._in.document(document.delimiter, strips_tabs=document.strips_tabs)
            command = self._items[document.item]
            if isinstance(command, Simple):
                redirects = list(command.redirects)
                redirects[document.place] = Redirect(redirects[document.place].operator, body)
                self._items[document.item] = replace(command, redirects=tuple(redirects))

    def _end_command(self) -> None:
        if not self._words and not self._redirects:
            return
        for document in reversed(self._documents):
            if document.item >= 0:
                break
            document.item = len(self._items)
        self._items.append(Simple(tuple(self._words), tuple(self._redirects), self._is_piped))
        self._words, self._redirects = [], []

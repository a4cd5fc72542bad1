"""Goes through a script, name by name, and notes its effects by the tables of its language."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tools.approval.scripts.code.aliases import aliases_in
from tools.approval.scripts.code.calls import Call, calls_of
from tools.approval.scripts.code.modes import change_mode
from tools.approval.scripts.code.rules import Language, Rule
from tools.approval.scripts.code.syntax import Token
from tools.approval.scripts.code.tokens import Tokenizer
from tools.approval.scripts.code.values import with_known_values
from tools.approval.scripts.effects import HIDDEN, SENDS, SHOWS_SECRETS, SHOWS_VARIABLES, TOO_MUCH, Effects
from tools.approval.scripts.secret_names import names_secret
from tools.approval.scripts.sql import judge_sql
from tools.approval.scripts.verdict import ScriptVerdict
from tools.bash.reading import UNKNOWN

_MAX_CHARS = 16_000
_MAX_TOKENS = 6_000
_MAX_DEPTH = 6
_MAX_CALLS = 3_000
_VERBS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODIES = frozenset({"body", "data", "json", "files", "postdata"})
_OPEN_VARIABLES = re.compile(r"HOME|PATH|USER|LANG|PWD|SHELL|TERM|TZ|LOGNAME|NODE_ENV|CI|RAILS_ENV|DEBUG|PORT")
_PIPED = re.compile(r"\|\s*[^|\s-].*|[^|]*[^|\s-]\s*\|", re.DOTALL)
_SECRET_VARIABLES = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|\[\w*\]$|\{\$", re.IGNORECASE)
_ONE_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*|fetch|get|has|key\?|include\?|\(\)")
_READS = frozenset({"reads", "opens", "shell", "starts"})


def judge_code(language: Language, source: str, effects: Effects) -> ScriptVerdict:
    """How far a script of `language` reaches."""
    read_into(language, source, effects, 0)
    return effects.verdict


def read_into(language: Language, source: str, effects: Effects, depth: int) -> None:
    """Look at a script, or at a text that one runs."""
    if len(source) > _MAX_CHARS or depth > _MAX_DEPTH:
        effects.doubt()
        effects.add(TOO_MUCH)
        return
    readings = [source]
    if "<?" in source.lstrip()[2:] and language.calls_variables:
        readings.append(source[source.index("<?", 2) :])  # what stands before may be no code
    seen: list[list[Token]] = []
    for text in readings:
        for is_eager in (False, True):
            tokens = with_known_values(Tokenizer(text, language.syntax, is_eager=is_eager).tokens())
            if len(tokens) > _MAX_TOKENS:
                effects.doubt()
                effects.add(TOO_MUCH)
                return
            if tokens not in seen:
                seen.append(tokens)
                _Reader(language, tokens, effects, depth).read()


class _Reader:
    def __init__(self, language: Language, tokens: Sequence[Token], effects: Effects, depth: int) -> None:
        self._language = language
        self._tokens = tokens
        self._effects = effects
        self._depth = depth
        self._aliases, self._named = aliases_in(tokens)
        self._has_read = False
        self._requests: list[tuple[Call, Rule]] = []

    def read(self) -> None:
        if any(UNKNOWN in token.text for token in self._tokens if token.kind != "text"):
            self._effects.doubt()
        for token in self._tokens:
            self._look_at_token(token)
        self._look_at_pairs()
        for count, call in enumerate(calls_of(self._tokens, self._language.joiners, bare=self._language.bare)):
            if count > _MAX_CALLS:
                self._effects.doubt()
                self._effects.add(TOO_MUCH)
                break
            if call.place not in self._named or call.is_called:
                self._look_at_call(call)
        for call, rule in self._requests:
            self._look_at_request(call, rule)
        if not self._effects.is_proven:
            self._look_for_secrets()

    def _look_at_token(self, token: Token) -> None:
        if token.kind == "command":
            self._has_read = True
            self._effects.runs(token.text)
        elif (token.kind == "regex" and re.search(r"\(\?\??\{", token.text)) or (
            token.kind == "name" and token.text in self._language.hiding
        ):
            self._effects.doubt()
            self._effects.add(HIDDEN)

    def _look_at_pairs(self) -> None:
        texts = [
            token.text if token.kind == "mark" else "" if token.kind == "text" else "x" for token in self._tokens
        ]
        if any(pair in self._language.hiding_pairs for pair in itertools.pairwise(texts)):
            self._effects.doubt()
            self._effects.add(HIDDEN)

    def _look_at_call(self, call: Call) -> None:
        language = self._language
        parts = self._resolved(call)
        name = ".".join(parts)
        if name in {"require", "import"} and call.is_called:
            self._load(call.word(0))
            return
        if call.has_parentheses and language.calls_variables and parts[-1].startswith("$"):
            self._effects.doubt()
            self._effects.add(HIDDEN)
            return
        if parts[0] == UNKNOWN:
            self._effects.doubt()
            if call.is_called or len(self._tokens) == 1:
                self._effects.add(HIDDEN)
            return
        if parts[-1] == UNKNOWN or UNKNOWN in parts[1:]:
            self._effects.doubt()
            if parts[0] in language.powerful or (call.is_called and parts[0].startswith("$")):
                self._effects.add(HIDDEN)
            return
        if any(name == known or name.startswith(f"{known}.") for known in language.environment):
            self._look_at_variables(call, parts)
            return
        rule = self._rule(parts)
        if rule is not None:
            self._apply(rule, call)
        elif not self._is_fine(parts, call):
            self._effects.doubt()

    def _load(self, module: str) -> None:
        """A module is loaded: one that comes with the language, data, or something that runs."""
        if UNKNOWN in module:
            self._effects.doubt()
            self._effects.add(HIDDEN)
        elif module.endswith(".json") and module.startswith((".", "/")):
            self._effects.reads(module)
        elif module.removeprefix("node:") not in self._language.modules:
            self._effects.doubt()

    def _resolved(self, call: Call) -> tuple[str, ...]:
        """The chain with the names of modules in place of their aliases, and of `require(…)`."""
        parts = call.parts
        if parts[0] == "require" and len(parts) > 1 and parts[1] == "()":
            module = call.first[0].removeprefix("node:") if call.first else UNKNOWN
            return (module, *parts[2:])
        alias = self._aliases.get(parts[0])
        return parts if alias is None else (*alias.split("."), *parts[1:])

    def _rule(self, parts: tuple[str, ...]) -> Rule | None:
        rules = self._language.rules
        plain = tuple(part for part in parts if part != "()") or parts
        for start in range(len(plain)):
            found = rules.get(".".join(plain[start:]))
            if found is not None and (start == 0 or len(plain) - start > 1):
                return found
        return rules.get(f"*.{parts[-1]}") if len(parts) > 1 else None

    def _is_fine(self, parts: tuple[str, ...], call: Call) -> bool:
        language = self._language
        if len(parts) == 1:
            name = parts[0]
            is_plain = not call.is_called and not language.names_call
            return name in language.fine or name in language.keywords or is_plain or name[:1] in "$@%"
        if ".".join(parts) in language.fine or f"{parts[0]}.*" in language.fine:
            return True
        if not call.is_called and not language.names_call:
            return parts[0] not in language.powerful
        return f"*.{parts[-1]}" in language.fine and parts[0] not in language.powerful

    def _look_at_variables(self, call: Call, parts: tuple[str, ...]) -> None:
        names = [part for part in (*parts, *call.words) if _OPEN_VARIABLES.fullmatch(part)]
        if names:
            return
        self._effects.doubt()
        end = call.place + 2 * len(parts) - 1
        following = "".join(token.text for token in self._tokens[end : end + 3])
        is_one = following[:1] in {"{", "[", "(", "."} and not following.startswith("()")
        is_whole = (
            not is_one if ".".join(parts) in self._language.environment else not _ONE_VARIABLE.fullmatch(parts[-1])
        )
        if is_whole or _SECRET_VARIABLES.search(f"{parts[-1]} {call.word(0)} {following}"):
            self._effects.add(SHOWS_VARIABLES)

    def _apply(self, rule: Rule, call: Call) -> None:
        effects = self._effects
        self._has_read = self._has_read or rule.does in _READS
        match rule.does:
            case "like":
                self._do_like(rule, call)
            case "mode":
                change_mode(call, rule.place, effects)
            case "shell":
                self._run(call)
            case "starts":
                effects.starts(call.words[rule.place :] or (UNKNOWN,))
            case "always":
                effects.doubt()
                effects.add(rule.finding or HIDDEN)
            case "writes":
                effects.writes(call.word(rule.place))
            case "reads":
                effects.reads(call.word(rule.place))
            case "opens":
                self._open(rule, call)
            case "evaluates":
                self._evaluate(rule, call)
            case _:
                effects.doubt()
                self._apply_doubtful(rule, call)

    def _apply_doubtful(self, rule: Rule, call: Call) -> None:
        effects = self._effects
        if rule.does in {"gets", "posts"}:
            self._requests.append((call, rule))
        elif rule.does == "sql":
            effects.found.extend(judge_sql(call.word(rule.place), effects.of_another()).findings)
        elif rule.does == "named":
            named = self._language.rules.get(call.word(0))
            if named is not None and named.does != "reads":
                effects.add(HIDDEN)

    def _do_like(self, rule: Rule, call: Call) -> None:
        self._effects.doubt()
        words = call.words[rule.place :]
        known = words[: rule.needs]
        if rule.needs and (len(known) < rule.needs or any(UNKNOWN in word for word in known)):
            return
        self._effects.does(rule.template, *words, at_least=rule.finding)

    def _run(self, call: Call) -> None:
        words = tuple(word for word in call.words if word not in {"", UNKNOWN}) if len(call.words) > 1 else call.words
        if not call.words or call.words[0].startswith(UNKNOWN):
            self._effects.doubt()
            self._effects.add(HIDDEN)
        elif len(words) == 1:
            self._effects.runs(words[0])
            if UNKNOWN in call.words:
                self._effects.starts(call.words)
        else:
            self._effects.starts(call.words)

    def _open(self, rule: Rule, call: Call) -> None:
        path, mode = call.word(rule.place), call.words[rule.place + 1] if len(call.words) > rule.place + 1 else "r"
        piped = next((text.strip() for text in (path, mode) if _PIPED.fullmatch(text.strip())), "")
        if piped:
            command = piped.strip("|")
            self._effects.feeds(command) if piped.startswith("|") else self._effects.runs(command)
        elif len(mode) > 2 and mode.startswith((">", "+>")):  # noqa: PLR2004 - the mode and the name in one
            self._effects.writes(mode.lstrip("+> "))
        elif mode in {"-|", "|-"}:
            rest = call.words[rule.place + 2 :]
            self._effects.runs(rest[0]) if len(rest) == 1 else self._effects.starts(rest)
        elif path.startswith((">", "+<")):
            self._effects.writes(path.lstrip("+<> "))
        elif mode.startswith((">", "+")):
            self._effects.writes(call.word(rule.place + 2))
        elif mode.startswith("<"):
            self._effects.reads(call.word(rule.place + 2))
        elif re.fullmatch(r"r[bt]*(?::.*)?", mode):
            self._effects.reads(path.lstrip("< "))
        else:
            self._effects.writes(path)

    def _evaluate(self, rule: Rule, call: Call) -> None:
        if not call.words:
            # A block: its code is among the tokens. Elsewhere the function itself is handed on.
            if not self._language.bare:
                self._effects.doubt()
                self._effects.add(HIDDEN)
            return
        text = call.word(rule.place)
        if UNKNOWN in text:
            self._effects.doubt()
            if not (call.tokens and call.tokens[0].text in {"{", "do"}):
                self._effects.add(HIDDEN)
        else:
            read_into(self._language, text, self._effects, self._depth + 1)

    def _look_at_request(self, call: Call, rule: Rule) -> None:
        """A request: with a body it sends; an address that is made of what was read carries it, too."""
        address = next((word for word in call.words if re.match(r"(?i)https?://", word)), call.word(0))
        texts = {token.text.upper() for token in call.tokens if token.kind == "text"}
        has_body = bool(_BODIES & {token.text for token in call.tokens if token.kind == "name"})
        verbs = sorted(_VERBS & texts)
        if rule.does == "posts" or has_body or verbs:
            self._effects.does(
                "curl -sS -X {1} -d x {0}",
                address,
                verbs[0] if verbs else "POST",
                at_least=SENDS if UNKNOWN in address else None,
            )
        elif UNKNOWN not in address:
            self._effects.does("curl -sS {0}", address)
        elif self._has_read:
            self._effects.add(SENDS)

    def _look_for_secrets(self) -> None:
        """Names of secret places in a script that opens what nobody can tell."""
        for token in self._tokens:
            if token.kind == "text" and names_secret(token.text):
                self._effects.add(SHOWS_SECRETS)

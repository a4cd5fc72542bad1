"""Commands that show and change settings: `/model`, `/mode`, `/permissions`, `/memory`, `/plugins`, `/trust`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, Told, Typed, code, plain, table
from agent_core.errors import RequestError
from agent_core.memory.session_memory import sorted_out
from agent_core.memory.store import NAMES, MemoryStore, MemoryUnusable, used
from agent_core.providers.shared_file import SharedFileError
from tools.approval.approvals import Approvals
from tools.approval.grants import PastAnswer, WiderAnswer
from tools.approval.permissions_file import KeptGrantsError
from tools.approval.policy import Rules
from tools.home_tools import LoadFailed
from tools.memory_port import MemoryOperation, MemoryRefused, MemoryTarget

if TYPE_CHECKING:
    from agent_core.plugins.plugin import PluginStatus
    from agent_core.settings.options import Choice, Option

_T = TypeVar("_T")


# `/model`, `/mode`, `/plan` and `/reasoning`.

_MOST_SHOWN = 60
_MOST_OF_A_GROUP = 12
_MOST_ALIKE = 10
_DOCTOR = "Look at your settings (`hermes-acp doctor`)."
_CHOOSE_HOW = {"thought_level": "The model has no levels of it; `/model` chooses another one."}
_SHOWS = {"show": True, "hide": False}


def choose_model(typed: Typed, desk: Desk) -> Told:
    """Without words show the models, with some choose one."""
    return _choose("model", "Model", typed, desk)


def choose_mode(typed: Typed, desk: Desk) -> Told:
    """Without words show the modes, with one choose it."""
    return _choose("mode", "Mode", typed, desk)


def choose_effort(typed: Typed, desk: Desk) -> Told:
    """How much the model thinks, shown or chosen; `show` and `hide` are about whether its thoughts are shown."""
    if (shown := _SHOWS.get(typed.words.lower())) is not None:
        desk.choose("thoughts", shown)
        return Told("The model's thinking is shown." if shown else "The model's thinking is not shown.")
    return _choose("thought_level", "Thinking", typed, desk)


def plan_first(typed: Typed, desk: Desk) -> Outcome:
    """Choose the mode in which nothing is changed; with words, these are the prompt."""
    desk.choose("mode", "plan")
    if typed.rest:
        return AsPrompt(typed.rest)
    return Told(f"Mode: {code('plan')}. Nothing is changed until you approve a plan; `/mode default` ends this.")


def matching(wanted: str, choices: Sequence[Choice]) -> Sequence[Choice]:
    """The choices that `wanted` may mean: the one of that name, else all that begin so, else all that hold it."""
    words = wanted.casefold()
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [choice for choice in choices if any(fits(name, words) for name in _names(choice))]
        if found:
            return found
    return ()


def _choose(option_id: str, title: str, typed: Typed, desk: Desk) -> Told:
    option = next((one for one in desk.options() if one.id == option_id), None)
    if option is None:
        raise RequestError(f"There is no {title.lower()} to choose here. {_CHOOSE_HOW.get(option_id, _DOCTOR)}")
    if not typed.words:
        return Told(_option_shown(title, option, typed.command.name))
    choices = list(_choices(option))
    found = matching(typed.words, choices)
    if len(found) > 1:
        alike = [f"- {code(choice.value)}" for choice in found[:_MOST_ALIKE]]
        more = [f"- … and {len(found) - _MOST_ALIKE} more"] if len(found) > _MOST_ALIKE else []
        several = f"{code(typed.words)} fits several, so nothing was changed. Write more of one:"
        return Told("\n".join([several, "", *alike, *more]))
    value = found[0].value if found else _unlisted(title, typed, option)
    if value == option.value:
        return Told(f"{title}: {code(value)}, as before.")
    desk.choose(option.id, value)
    return Told(f"{title}: {code(value)}, from the next request on.")


def _unlisted(title: str, typed: Typed, option: Option) -> str:
    """A value that is not in the list: a model may be named that its server does not list.

    Raises:
        RequestError: it cannot be one.
    """
    if option.id == "model" and ":" in typed.words.strip(":") and not typed.words.split()[1:]:
        return typed.words
    raise RequestError(
        f"There is no {title.lower()} {typed.words[:80]!r}; nothing was changed. /{typed.command.name} lists them."
    )


def _option_shown(title: str, option: Option, name: str) -> str:
    lines = [f"**{title}:** {code(str(option.value))}", ""]
    if option.groups:
        left = _MOST_SHOWN
        for group in option.groups:
            shown = group.choices[: min(left, _MOST_OF_A_GROUP)]
            left -= len(shown)
            lines += [f"**{plain(group.name)}** ({len(group.choices)})", *map(_value_line, shown)]
            lines += [f"- … and {len(group.choices) - len(shown)} more"] if len(shown) < len(group.choices) else []
            lines.append("")
    else:
        lines += [*map(_value_line, option.choices[:_MOST_SHOWN]), ""]
    return "\n".join([*lines, f"`/{name} …` chooses: a part of the name is enough where only one has it."])


def _value_line(choice: Choice) -> str:
    named = f": {plain(choice.name)}" if choice.name not in {choice.value, choice.value.partition(":")[2]} else ""
    described = f". {plain(choice.description)}" if choice.description else ""
    return f"- {code(choice.value)}{named}{described}"


def _choices(option: Option) -> Iterator[Choice]:
    yield from option.choices
    for group in option.groups:
        yield from group.choices


def _names(choice: Choice) -> tuple[str, ...]:
    return tuple(name.casefold() for name in (choice.value, choice.value.partition(":")[2], choice.name) if name)


# `/permissions`: answers that hold for longer, taken back or let reach further.

_PERMISSIONS_HINT = "`/permissions revoke N` takes one back, `/permissions forget-refusals` every no of this session."
_WIDER_HINT = "`/permissions widen N a` lets a yes reach as far as the line with that letter says."
_NOTHING = "You have allowed and refused nothing for longer than once."
_LETTERS = "abcdefgh"


def manage_permissions(typed: Typed, desk: Desk) -> Told:
    """Without words show every answer that counts; with some take one back, or let it reach further.

    Raises:
        RequestError: the words are none of the command's, or there is no such answer.
    """
    approvals = desk.session.workspace.approvals
    match typed.words.split():
        case []:
            return Told(_permissions_shown(approvals))
        case ["revoke", number]:
            return Told(_revoked(approvals, number))
        case ["widen", number, letter]:
            return Told(_widened(approvals, number, letter))
        case ["forget-refusals"]:
            if not (count := approvals.forget_refusals()):
                return Told("Nothing was refused for this session; nothing was changed.")
            return Told(f"{count} refusal{' is' if count == 1 else 's are'} forgotten: you are asked again.")
    raise RequestError(
        f"/permissions does not know {typed.words[:80]!r}; nothing was changed. "
        "Use /permissions, /permissions revoke N, /permissions widen N a or /permissions forget-refusals."
    )


def _revoked(approvals: Approvals, number: str) -> str:
    answer = _answer(approvals, number)
    try:
        approvals.revoke(answer)
    except KeptGrantsError as problem:
        raise RequestError(f"It could not be taken back. {problem}") from problem
    kind = "allowed" if answer.allowed else "refused"
    return f"No longer {kind}: {code(answer.words)}. You are asked again."


def _widened(approvals: Approvals, number: str, letter: str) -> str:
    answer = _answer(approvals, number)
    wider = dict(zip(_LETTERS, approvals.wider(answer), strict=False))
    if letter not in wider:
        raise RequestError(
            f"Answer {number} has no wider one {letter[:20]!r}; nothing was changed. /permissions lists them."
        )
    approvals.widen(answer, wider[letter])
    return f"Allowed: {_wider_line(wider[letter])}."


def _answer(approvals: Approvals, number: str) -> PastAnswer:
    """The answer of that number in the list.

    Raises:
        RequestError: there is none.
    """
    return _numbered(number, approvals.grants.listed(), "answer", "/permissions")


def _numbered(number: str, things: Sequence[_T], what: str, command: str) -> _T:
    place = int(number) if number.isascii() and number.isdigit() else 0
    if not 1 <= place <= len(things):
        raise RequestError(f"There is no {what} number {number[:20]!r}; nothing was changed. {command} lists them.")
    return things[place - 1]


def _permissions_shown(approvals: Approvals) -> str:
    answers = approvals.grants.listed()
    parts = ["\n".join(_lines(approvals, answers))] if answers else [_NOTHING]
    if answers:
        widens = any(map(approvals.wider, answers))
        parts.append(f"{_PERMISSIONS_HINT} {_WIDER_HINT}" if widens else _PERMISSIONS_HINT)
    parts += _rules(approvals.rules)
    if approvals.grants.problem:
        parts.append(f"**Look at this:** {plain(approvals.grants.problem)}")
    return "\n\n".join(parts)


def _lines(approvals: Approvals, answers: Sequence[PastAnswer]) -> Iterator[str]:
    for number, answer in enumerate(answers, 1):
        yield f"{number}. {_grant_line(answer)}"
        for letter, wider in zip(_LETTERS, approvals.wider(answer), strict=False):
            yield f"   - {letter}: {_wider_line(wider)}"


def _grant_line(answer: PastAnswer) -> str:
    kind = "allowed" if answer.allowed else "**refused**"
    lasts = "this session" if answer.record is None else "for good"
    note = f", {plain(answer.note)}" if answer.note else ""
    return f"{kind}: {code(answer.words)} ({lasts}{note})"


def _wider_line(wider: WiderAnswer) -> str:
    return f"{code(wider.words)} ({'every session here' if wider.always else 'this session'})"


def _rules(rules: Rules) -> Iterator[str]:
    for title, written in (("Denied by rules, in every mode", rules.deny), ("Allowed by rules", rules.allow)):
        if written:
            yield "\n".join((f"**{title}:**", *(f"- {code(rule.shown)}{_source(rule.source)}" for rule in written)))
    if rules.asks_all:
        yield "You are asked about everything that is not proven harmless (`approvals.mode: all`)."
    if why_not := rules.confines.why_not:
        yield f"No sandbox contains commands: {plain(why_not)}."


def _source(source: str) -> str:
    return f" ({plain(source)})" if source else ""


# `/memory`.

_MEMORY_HINT = (
    "`/memory forget N` forgets one, `/memory add TEXT` adds a note, `/memory add-about-me TEXT` what is about you. "
    "Sessions that are open keep what they began with; new ones begin with this."
)


def manage_memory(typed: Typed, desk: Desk) -> Told:
    """Without words show all entries; with some forget or add one.

    Raises:
        RequestError: the words are none of the command's, or it cannot be done.
    """
    settings = desk.factory.settings().memory
    store = desk.factory.memory_files()
    word, _, rest = typed.words.strip().partition(" ")
    match word, rest.strip():
        case "", _:
            return Told("\n\n".join(_memory_shown(store, settings.provider)))
        case "forget", number if number:
            return Told(_entry_forgotten(store, number))
        case "add" | "add-about-me", text if text:
            target: MemoryTarget = "memory" if word == "add" else "user"
            return Told(_done(store, target, MemoryOperation("add", text), f"Remembered: {plain(text)}"))
    raise RequestError(
        f"/memory does not know {typed.words[:80]!r}; nothing was changed. "
        "Use /memory, /memory forget N, /memory add TEXT or /memory add-about-me TEXT."
    )


def _memory_shown(store: MemoryStore, provider: str) -> Iterator[str]:
    if not store.targets():
        yield "Nothing is remembered in files (`memory.memory_enabled`, `memory.user_profile_enabled`)."
    number = 0
    for target in store.targets():
        try:
            entries = store.read(target)
        except MemoryUnusable as problem:
            yield f"**{NAMES[target]}:** {plain(str(problem))}"
            continue
        size = f"{used(entries):,} of {store.limits.of(target) or 0:,} characters"
        _, reasons = sorted_out(entries)
        title = "Notes" if target == "memory" else "About you"
        lines = [f"**{title}** ({code(str(store.path(target)))}, {size})", ""]
        for at, entry in enumerate(entries):
            number += 1
            kept_back = f" **(kept from the model: {plain(reasons[at])})**" if at in reasons else ""
            lines.append(f"{number}. {plain(' '.join(entry.split()))}{kept_back}")
        yield "\n".join(lines if entries else [*lines, "Nothing yet."])
    if provider:
        yield f"Beside them there is the memory provider {code(provider)}."
    yield _MEMORY_HINT


def _entry_forgotten(store: MemoryStore, number: str) -> str:
    target, entry = _numbered(number, list(_all(store)), "entry", "/memory")
    return _done(store, target, MemoryOperation("remove", old_text=entry), f"Forgotten: {plain(entry)}")


def _done(store: MemoryStore, target: MemoryTarget, operation: MemoryOperation, told: str) -> str:
    try:
        done = store.commit(store.plan(target, (operation,)))
    except MemoryRefused as problem:
        raise RequestError(str(problem)) from problem
    return " ".join([f"{told} ({NAMES[target]}: {done.usage}).", *map(plain, done.notes)])


def _all(store: MemoryStore) -> Iterator[tuple[MemoryTarget, str]]:
    for target in store.targets():
        try:
            yield from ((target, entry) for entry in store.read(target))
        except MemoryUnusable:  # it is shown where the entries are
            continue


# `/plugins` and `/trust`.

_NONE = (
    "There are no plugins. Your own are folders with a plugin.yaml in {place}, a project's are in .hermes/plugins."
)
_TRUST_HOW = (
    "Look at it first. `/trust all`, or `/trust NAME …`, trusts this content: what is changed later does not run "
    "before you trust it again. `/trust none` takes that back."
)


def show_plugins(_typed: Typed, desk: Desk) -> Told:
    """The plugins: where they come from, how it stands with them, what they offer."""
    plugins, cwd = desk.factory.plugins, desk.session.seed.cwd
    statuses = plugins.seen(cwd)
    if not statuses:
        return Told(_NONE.format(place=code(str(desk.factory.home.root / "plugins"))))
    rows = [
        (plain(_name(each)), each.origin, each.state, plain(each.offers.told or each.description))
        for each in statuses
    ]
    notes = [f"- {code(each.name)} {plain(each.detail)}." for each in statuses if each.detail]
    return Told("\n".join((table(("plugin", "from", "state", "offers"), rows), *([""] if notes else []), *notes)))


def trust_project(typed: Typed, desk: Desk) -> Told:
    """Show what the project brings that would run with the person's rights, or trust it as it is now.

    Raises:
        RequestError: there is nothing of that name, or it cannot be read.
    """
    project, wanted = desk.factory.plugins.project(desk.session.seed.cwd), typed.words.split()
    brought = {each.name: each.folder for each in project.brought()}
    try:
        if wanted == ["none"]:
            was = desk.factory.plugins.state.untrust(project.root)
            end = "what was loaded is used until this program ends" if was else "nothing was trusted"
            return Told(f"Nothing that this project brings is trusted any more; {end}.")
        if not brought:
            return Told("This project brings nothing that could be trusted: no plugins, no hooks.")
        if not wanted:
            return Told(_asked(brought, project.show(), project.statuses))
        names = list(brought) if wanted == ["all"] else wanted
        if unknown := [name for name in names if name not in brought]:
            raise RequestError(f"This project brings no {' and no '.join(unknown)}. It brings {', '.join(brought)}.")
        trusted = project.trust(names)
    except (LoadFailed, SharedFileError) as problem:
        raise RequestError(f"Nothing was trusted: it {problem}") from problem
    lines = [f"- {code(name)}, content {digest[:12]}" for name, digest in trusted.items()]
    problems = [f"- {plain(text)}" for text in project.problems()]
    return Told("\n".join(("Trusted as they are now, from the next prompt on:", *lines, *problems)))


def _asked(brought: Mapping[str, object], digests: Mapping[str, str], statuses: tuple[PluginStatus, ...]) -> str:
    lines = [
        f"- {code(name)}: {code(str(folder))}" + (f", content {digest[:12]}" if (digest := digests.get(name)) else "")
        for name, folder in brought.items()
    ]
    known = [f"- {plain(each.problem)}" for each in statuses if each.problem]
    return "\n".join((
        "This project brings code that would run with your rights, outside the sandbox:",
        *lines,
        *known,
        "",
        _TRUST_HOW,
    ))  # fmt: skip


def _name(status: PluginStatus) -> str:
    return f"{status.name} {status.version}".rstrip()

"""Runs the tool calls of one answer, side by side where that is safe, and the calls that programs make in turn."""

from __future__ import annotations

import base64
import binascii
import json
import os
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, ToolProgress
from agent_core.cancel import CancelToken
from agent_core.errors import TurnInterrupted
from agent_core.messages import (
    INTERRUPTED_RESULT,
    Content,
    ImagePart,
    Message,
    Part,
    ToolCall,
    parse_arguments,
    tool_call,
)
from agent_core.model_request.history_filter import Omissions
from agent_core.model_request.response import CallIds
from agent_core.providers.choice import ModelChoice
from agent_core.turn import Turn
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.actions import Action, ReadPath
from tools.context import AgentServices
from tools.dispatch import AnswerShare, dispatch, fitted, shortened, unknown_tool
from tools.errors import ToolInterrupted
from tools.files.seen import FilesSeen, SeenByProgram
from tools.images import image_facts, refusal
from tools.light_dataclass import dataclass
from tools.os_compat import absolute
from tools.ports import Interrupt
from tools.registry import Parallel, Toolbox, ToolEntry
from tools.result import ResultImage, ToolResult, error

# Which of them may run at the same time.

_TALKING = frozenset({"clarify", "exit_plan_mode"})
"""Tools that talk with the person: an answer that calls one is done step by step, so that they see what led to it."""

Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """What planning needs of a call.

    Attributes:
        parallel: its tool's classification.
        paths: what it works on, symbolic links resolved. A call that changes paths and names none may change any.
    """

    name: str
    parallel: Parallel
    paths: tuple[Path, ...] = ()


def plan_batches(calls: Sequence[PlannedCall]) -> list[list[int]]:
    """Split calls, in order, into batches of positions; the calls of a batch may run side by side.

    A call joins the batch before it unless one of the two is «never» parallel, or one of them changes a path that
    the other works on, above or below. Paths that differ only in case or in how a letter is composed count as the
    same, since they are on some disks.
    """
    if any(call.name in _TALKING for call in calls):
        return [[position] for position in range(len(calls))]
    batches: list[list[int]] = []
    places = [tuple(map(_place, call.paths)) for call in calls]
    for position, call in enumerate(calls):
        current = batches[-1] if batches else []
        if current and all(_compatible(calls[other], places[other], call, places[position]) for other in current):
            current.append(position)
        else:
            batches.append([position])
    return batches


def are_compatible(one: PlannedCall, other: PlannedCall) -> bool:
    """Whether two calls may run at the same time."""
    return _compatible(one, tuple(map(_place, one.paths)), other, tuple(map(_place, other.paths)))


def _compatible(one: PlannedCall, its: Sequence[Place], other: PlannedCall, others: Sequence[Place]) -> bool:
    if "never" in {one.parallel, other.parallel}:
        return False
    if "paths" not in {one.parallel, other.parallel}:
        return True
    if any(call.parallel == "paths" and not call.paths for call in (one, other)):
        return False
    return not any(_overlap(place, another) for place in its for another in others)


def _overlap(one: Place, other: Place) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _place(path: Path) -> Place:
    return tuple(_folded(path.parts))


def _folded(parts: Iterable[str]) -> Iterable[str]:
    return (unicodedata.normalize("NFC", part).casefold() for part in parts)


# Lets calls that come one by one, from several threads, run beside each other as far as their tools bear it.


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    call: PlannedCall
    interrupt: Interrupt


class SideBySide:
    """The calls that run or wait, in the order in which they came. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._entries)

    @contextmanager
    def entered(self, call: PlannedCall, interrupt: Interrupt) -> Iterator[None]:
        """Wait until the call may run beside those before it; then it does until the block's end.

        Raises:
            ToolInterrupted: its turn was over first.
        """
        mine = _Entry(call, interrupt)
        with self._lock:
            self._entries.append(mine)
        try:
            if not interrupt.wait_for(lambda: self._may_run(mine)):
                raise ToolInterrupted
            yield
        finally:
            with self._lock:
                self._entries.remove(mine)
                others = tuple(self._entries)
            for other in others:
                other.interrupt.notify()

    def _may_run(self, mine: _Entry) -> bool:
        with self._lock:
            before = self._entries[: self._entries.index(mine)]
        return all(are_compatible(other.call, mine.call) for other in before)


# Tool results in the history: their text, their images and who is shown them, and what programs read of them.
# Images lie in the tool's message as data URLs, as those of prompts do, so that each later request says the same; a
# wire protocol that has no place for them in results moves them at its edge.

_KEPT_FACTS = (
    "exit_code", "signal", "timed_out", "pipe_statuses", "running", "line", "last_line", "total_lines", "counts",
)  # fmt: skip
MAX_IMAGES = 8
"""Of one result."""


def sees_images(choice: ModelChoice, omissions: Omissions) -> bool:
    """Whether tools should give images: the model is known to see, or is not known to be blind.

    Where nothing is known, a server that refused images once is not given more.
    """
    known = choice.facts.vision
    return omissions.images_before == 0 if known is None else known


def result_content(result: ToolResult, note: str = "") -> Content:
    """What the model is told of a call: its text, its images, and in words why an image is not among them."""
    parts, problems = _checked(result.images)
    text = "\n\n".join(part for part in (result.text, note, *problems) if part)
    return [{"type": "text", "text": text}, *parts] if parts else text


def outcome_of(result: ToolResult) -> dict[str, Any]:
    """What the history keeps of a result for programs, which never read its text."""
    outcome: dict[str, Any] = {"failed": True} if result.failed else {}
    return outcome | {name: result.facts[name] for name in _KEPT_FACTS if result.facts.get(name) is not None}


def images_in(message: Message) -> tuple[ResultImage, ...]:
    """The images of a stored result, without their names; those that cannot be read are left out."""
    content = message["content"]
    return tuple(_read(content)) if isinstance(content, list) else ()


def _checked(images: Sequence[ResultImage]) -> tuple[list[Part], list[str]]:
    parts: list[Part] = []
    problems: list[str] = []
    for image in images:
        name = image.name or "An image"
        facts = image_facts(image.data)
        if facts is None:
            problems.append(f"[{name} is left out: it is no PNG, JPEG, GIF or WebP.]")
        elif problem := refusal(facts, len(image.data)):
            problems.append(f"[{name} is left out: it {problem}]")
        elif len(parts) == MAX_IMAGES:
            problems.append(f"[{name} is left out: a result holds {MAX_IMAGES} images at most. Ask for fewer.]")
        else:
            parts.append(image_part(image.data, facts.mime_type))
    return parts, problems


def image_part(data: bytes, mime_type: str) -> ImagePart:
    """An image as a part of a message."""
    url = f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _read(content: Sequence[Part]) -> Iterator[ResultImage]:
    for part in content:
        if part["type"] != "image_url":
            continue
        head, _, data = part["image_url"]["url"].partition(",")
        if not head.startswith("data:"):
            continue
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            continue
        yield ResultImage(decoded, head.removeprefix("data:").partition(";")[0])


# The running; results are in call order.

Listener = Callable[[ToolProgress], None]
Refuse = Callable[[ToolCall], str]

_AT_ONCE = 8
"""So many calls run at the same time at most."""


@dataclass(slots=True)
class _Call:
    """A tool call on its way. `started` and `finished` are each told once."""

    source: ToolCall
    id: str
    name: str
    arguments: dict[str, Any]
    problem: str = ""
    started: bool = False
    finished: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class ToolRunner:
    """Runs tool calls of one turn in one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        services: AgentServices,
        offered: frozenset[str],
        *,
        token: CancelToken,
        session_id: str,
        turn_id: str,
        task_id: str,
        listener: Listener | None,
        images: Callable[[], bool] = lambda: False,
        window: int | None = None,
        refuse: Refuse = lambda _: "",
        parent: str = "",
        for_program: bool = False,
    ) -> None:
        """Make it.

        Args:
            offered: the names of the tools that the model was told of.
            images: tells whether the model sees images, so that tools may give them.
            window: tokens that the model takes, if known: what one result, and all of an answer, may have.
            refuse: asked right before a call runs; what it says is the model's answer, and the call is not run.
            parent: the call that makes these, '' for the model itself.
            for_program: a program gets the results, as `tools.dispatch` has it.
        """
        self._workspace = workspace
        self._services = services
        self._offered = offered
        self._token = token
        self._session_id = session_id
        self._turn_id = turn_id
        self._task_id = task_id
        self._tell: Listener = listener or _tell_nobody
        self._images = images
        self._settings = fitted(workspace.settings, window)
        self._refuse = refuse
        self._parent = parent
        self._for_program = for_program

    def run(
        self, tool_calls: Sequence[ToolCall], problems: Mapping[str, str] | None = None
    ) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Run all calls; yields each call's result in call order, as soon as it and those before it are there.

        Args:
            problems: by call id, what is wrong with a call; it is answered with that, and not run.

        Raises:
            TurnInterrupted: the turn was cancelled; every call has been reported as finished.
        """
        share = AnswerShare(self._settings.max_answer_chars, len(tool_calls))
        calls = [_prepare(call, (problems or {}).get(call["id"], "")) for call in tool_calls]
        for call in calls:
            self._tell(CallRequested(call.id, call.name, call.arguments, self._parent))
        try:
            # What a call alone works on keeps no other from running beside it.
            batches = plan_batches([self._plan(call) for call in calls]) if len(calls) != 1 else [[0]]
            for batch in batches:
                together = [calls[position] for position in batch]
                for call in together:
                    call.problem = call.problem or self._refuse(call.source)
                for source, result in self._run_batch(together):
                    yield source, result if self._for_program else self._shared(source, result, share)
        finally:
            for call in calls:
                self._finish(call, ToolResult(INTERRUPTED_RESULT, failed=True))

    def planned(self, call: ToolCall) -> PlannedCall:
        """What decides beside which others a call may run."""
        return self._plan(_prepare(call, ""))

    def _shared(self, source: ToolCall, result: ToolResult, share: AnswerShare) -> ToolResult:
        """The result, as much of it as its answer has room for; all of it is in a file."""
        limit = share.next_limit()
        if len(result.text) > limit:
            file = self._workspace.output_file(self._identity(source["id"]))
            result = shortened(result, limit, file, self._settings.read.max_line_chars)
            # Lines that were left out have to be shown when they are asked for again.
            self._workspace.seen.forget_all()
        share.took(len(result.text))
        return result

    def _identity(self, call_id: str) -> CallIdentity:
        return CallIdentity(self._session_id, self._turn_id, self._task_id, call_id, self._parent)

    def _run_batch(self, batch: list[_Call]) -> Iterator[tuple[ToolCall, ToolResult]]:
        if len(batch) == 1:
            yield batch[0].source, self._run_one(batch[0])
            return
        pool = ThreadPoolExecutor(min(len(batch), _AT_ONCE), thread_name_prefix="tool")
        try:
            with self._workspace.approvals.queue.in_order([call.id for call in batch]):
                futures: list[Future[ToolResult]] = [
                    pool.submit(copy_context().run, self._run_one, call) for call in batch
                ]
                for call, future in zip(batch, futures, strict=True):
                    yield call.source, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_one(self, call: _Call) -> ToolResult:
        if self._token.is_set():
            raise TurnInterrupted
        result = self._dispatch(call)
        entry = self._workspace.tools.get(call.name)
        by_others = entry is not None and entry.untrusted and not result.denied
        if by_others or result.untrusted or result.has_fenced:
            self._workspace.approvals.note_others()
        # What was done is told as done, also when the cancel came meanwhile.
        self._finish(call, result)
        if self._token.is_set():
            raise TurnInterrupted
        return result

    def _dispatch(self, call: _Call) -> ToolResult:
        if call.name not in self._offered:
            return unknown_tool(call.name, self._offered, self._workspace.tools)
        if call.problem:
            return error(call.problem)
        context = self._workspace.context(
            self._identity(call.id),
            self._token,
            self._services,
            on_allowed=partial(self._allowed, call),
            on_output=partial(self._output, call),
        )
        context = replace(context, images=self._images, settings=self._settings)
        return dispatch(call.name, call.arguments, context, self._workspace.tools, for_program=self._for_program)

    def _allowed(self, call: _Call, action: Action) -> None:
        # A tool that changes files reads them first: its card runs once the change itself is allowed.
        entry = self._workspace.tools.get(call.name)
        if not isinstance(action, ReadPath) or (entry is not None and entry.parallel == "safe"):
            self._start(call)

    def _plan(self, call: _Call) -> PlannedCall:
        entry = self._workspace.tools.get(call.name)
        if entry is None or call.name not in self._offered:
            return PlannedCall(call.name, "safe")
        try:
            paths = self._paths(entry, call.arguments)
        except Exception:  # noqa: BLE001 - arguments are whatever the model sent; the tool will say what is wrong
            return PlannedCall(call.name, "never")
        return PlannedCall(call.name, entry.parallel, paths)

    def _paths(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[Path, ...]:
        """What a call works on: as its tool says, else its `path`; without one, the session's directory."""
        if entry.paths_fn is not None:
            return tuple(self._real(path) for path in entry.paths_fn(arguments))
        path = arguments.get("path")
        return (self._real(path),) if isinstance(path, str) else (self._workspace.cwd,)

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(absolute(path, self._workspace.cwd)))

    def _start(self, call: _Call) -> None:
        with call.lock:
            if call.started or call.finished:
                return
            call.started = True
            self._tell(CallRunning(call.id))
        self._workspace.approvals.queue.leave(call.id)

    def _output(self, call: _Call, text: str) -> None:
        self._start(call)
        with call.lock:
            if not call.finished:
                self._tell(CallOutput(call.id, text))

    def _finish(self, call: _Call, result: ToolResult) -> None:
        if not result.failed:
            self._start(call)
        with call.lock:
            if call.finished:
                return
            call.finished = True
            self._tell(CallFinished(call.id, call.name, call.arguments, result, call.started))
        self._workspace.approvals.queue.leave(call.id)


def _tell_nobody(_: ToolProgress) -> None:
    pass


def _prepare(source: ToolCall, problem: str) -> _Call:
    said, arguments = source["function"], dict[str, Any]()
    try:
        arguments = parse_arguments(said["arguments"])
    except ValueError as found:
        problem = problem or str(found)
    return _Call(source, source["id"], said["name"], arguments, problem)


# The calls that tools make in a turn: programs call other tools, each under its own card and the same rules.

MakeRunner = Callable[["NestedCalls", str, CancelToken, FilesSeen, Refuse], ToolRunner]


@dataclass(slots=True)
class _Maker:
    """A call that makes calls: what it knows of files, which of its calls run, and what is to be said of them."""

    seen: FilesSeen
    order: SideBySide = field(default_factory=SideBySide)
    count: int = 0
    warnings: dict[str, None] = field(default_factory=dict)


class NestedCalls:
    """One for the calls of one answer; safe to use from several threads.

    Args:
        offered: names of the tools that may be called.
        seen: what the session's model knows of files.
        make_runner: what runs the calls of one that makes them: these calls, its id, what ends it, what it knows of
            files, and who is asked right before a call runs.
        tools: the session's tools.
    """

    def __init__(
        self,
        turn: Turn,
        ids: CallIds,
        offered: frozenset[str],
        seen: FilesSeen,
        make_runner: MakeRunner,
        *,
        tools: Toolbox,
    ) -> None:
        self.offered = offered
        self._tools = tools
        self._turn = turn
        self._ids = ids
        self._seen = seen
        self._make_runner = make_runner
        self._lock = threading.Lock()
        self._makers: dict[str, _Maker] = {}

    def call(self, name: str, arguments: Mapping[str, Any], parent: str, interrupt: Interrupt) -> ToolResult:
        """Make one call for `parent`, once those that it cannot run beside have ended.

        Raises:
            ToolInterrupted: `interrupt` has ended it.
        """
        from tools.call_meaning import meant_call  # noqa: PLC0415 - not before the first call

        token = CancelToken()
        forget = interrupt.on_cancel(token.cancel)
        try:
            with self._lock:
                maker = self._makers.setdefault(parent, _Maker(SeenByProgram(self._seen)))
                maker.count += 1
                call_id = self._ids.unique(f"{parent}-{maker.count}")
            meant = meant_call(name, arguments, self.offered, self._tools.get)
            source = tool_call(call_id, meant.name, json.dumps(meant.arguments, ensure_ascii=False))
            runner = self._make_runner(self, parent, token, maker.seen, self._refusal)
            with maker.order.entered(runner.planned(source), token):
                ((_, result),) = runner.run((source,))
        finally:
            forget()
        self._see(source, result, maker)
        return result

    def take_warnings(self, parent: str) -> str:
        """What the model is to be told of the calls that `parent` has made, '' for nothing; once."""
        with self._lock:
            maker = self._makers.pop(parent, None)
        return "" if maker is None else " ".join(maker.warnings)

    def _refusal(self, call: ToolCall) -> str:
        with self._lock:
            return self._turn.repeats.refusal(call)

    def _see(self, call: ToolCall, result: ToolResult, maker: _Maker) -> None:
        with self._lock:
            self._turn.loose_ends.see(call, result)
            if warning := self._turn.repeats.see(call, result):
                maker.warnings[f"{call['function']['name']}: {warning}"] = None

"""The names that other agents have for our tools and their arguments, and arguments put under our names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from tools.light_dataclass import dataclass

# What other agents call our tools and their arguments: data alone, read by `tools.call_meaning`. Names are written as
# they are compared: small letters and digits, nothing between them (`run_shell_command` is `runshellcommand`).


@dataclass(frozen=True, slots=True)
class Alias:
    """What a name of another agent stands for.

    Attributes:
        tools: our tools, the best one first; the first that the session has counts. Empty: no tool is needed.
        fixed: arguments that the name implies.
        hint: what to do, where the call does not run as it was written; '' where the tool's example says enough.
        runs: False: its arguments mean something that none of ours does.
    """

    tools: tuple[str, ...]
    fixed: Mapping[str, Any]
    hint: str = ""
    runs: bool = True


def _names(
    names: str, *tools: str, hint: str = "", runs: bool = True, fixed: Mapping[str, str] | None = None
) -> dict[str, Alias]:
    return dict.fromkeys(names.split(), Alias(tools, fixed or {}, hint, runs))


_IN_WORDS = "To end, answer in words and call no tool."
_ALL_FILES = {"pattern": "*", "target": "files"}
_POLL, _ADD = {"action": "poll"}, {"action": "add"}

TOOLS: Mapping[str, Alias] = {
    **_names(
        "bash sh zsh shell run exec execute cmd command console runbash runshell runcommand runcmd runcommands "
        "executebash executecommand executeshell executeshellcommand runshellcommand shellcommand shellexec "
        "runterminalcmd runterminalcommand runinterminal terminalexec execcommand containerexec localshell bashtool "
        "shelltool systemrun unifiedexec commandline",
        "terminal",
    ),
    **_names("powershell", "terminal", hint="Commands run in bash, not in PowerShell.", runs=False),
    **_names("bashoutput getterminaloutput getcommandoutput readterminal taskoutput", "process", fixed=_POLL),
    **_names("killshell killbash killprocess taskstop stopprocess killterminal", "process", fixed={"action": "kill"}),
    **_names("writestdin", "process", fixed={"action": "write"}),
    **_names("sendinput sendtoterminal", "process", fixed={"action": "submit"}),
    **_names(
        "read cat view open viewfile openfile showfile getfile fileread readfiles readmanyfiles getfilecontents "
        "readtextfile readmediafile readimage viewimage readnotebook head",
        "read_file",
        hint="Read one file with each call; several calls can go into one answer.",
    ),
    **_names(
        "ls dir listdir listdirectory listfiles listfolder lsdir listdirectorycontents readdirectory readdir",
        "read_file",
        fixed={"path": "."},
    ),
    **_names("tree directorytree listfilesrecursive", "search_files", "read_file", fixed=_ALL_FILES),
    **_names(
        "grep rg ripgrep greptool grepsearch searchcode codesearch searchtext searchfilecontent searchcontent "
        "findinfiles searchdir searchfile searchinfiles textsearch filecontentsearch searchproject searchforpattern",
        "search_files",
    ),
    **_names(
        "glob find filesearch findfile findfiles globfiles globtool globfilesearch filefind searchfilenames "
        "findfilebyname findbyname searchforfiles fileglob",
        "search_files",
        fixed={"target": "files"},
    ),
    **_names(
        "codebasesearch semanticsearch searchcodebase codebaseretrieval askcodebase",
        "search_files",
        hint="It finds words and regular expressions, not meanings: search for a name that the code would use.",
        runs=False,
    ),
    **_names("search", "search_files", "web_search", hint="web_search looks on the web."),
    **_names(
        "edit editfile strreplace stringreplace replace replaceinfile searchreplace searchandreplace multiedit "
        "applypatch applydiff applyedit editblock replacestringinfile multireplacestringinfile edittool updatefile "
        "modifyfile changefile strreplacefile filesedit fileedit patchfile multieditfile replacelines "
        "editexistingfile",
        "patch",
        hint="To write a whole file, call write_file.",
    ),
    **_names(
        "insert insertcontent insertline insertatline inserttext appendfile appendtofile",
        "patch",
        hint="To insert, give the line above as old_string, and that line with the new ones as new_string.",
        runs=False,
    ),
    **_names(
        "write create createfile writetofile writefiles savefile filewrite filecreate newfile createnewfile addfile "
        "overwritefile writetextfile putfile savetofile",
        "write_file",
    ),
    **_names("deletefile removefile rmfile unlink filedelete", "patch", "terminal", hint="rm in terminal deletes."),
    **_names("rm delete remove", "terminal", hint="Give a shell command, as rm FILE.", runs=False),
    **_names("movefile renamefile rename move mv copyfile copy cp", "terminal", hint="Use mv or cp.", runs=False),
    **_names(
        "mkdir createdirectory makedir createfolder makedirectory",
        "terminal",
        hint="Use mkdir -p. write_file makes missing directories by itself.",
        runs=False,
    ),
    **_names("pwd which env git npm node make pytest curl wget sed", "terminal", hint="Run it there.", runs=False),
    **_names(
        "notebookedit editnotebook editnotebookcell",
        "patch",
        hint="A notebook is a JSON file: replace text of a cell in it.",
        runs=False,
    ),
    **_names(
        "strreplaceeditor strreplacebasededittool texteditor strreplacebasededit fileeditor",
        "patch",
        hint="read_file views a file, write_file creates one, patch replaces text.",
    ),
    **_names(
        "python python3 py runpython executepython pythonexec ipython executeipythoncell runipythoncell "
        "codeinterpreter codeexecution runcode executepythoncode runpythoncode pythontool jupyter",
        "execute_code",
        "terminal",
        hint="In terminal: python3 - <<'EOF' and the program.",
    ),
    **_names("todowrite updateplan writetodos settodolist updatetodolist managetodolist todolist plan", "todo"),
    **_names("todoread readtodos readtodolist gettodos", "todo"),
    **_names(
        "askuser askuserquestion askfollowupquestion askquestion askhuman question ask userinput requestuserinput "
        "asktheuser askuserforinput humaninput asktouser promptuser",
        "clarify",
        hint="One question with each call. Without it, ask in words and end your turn.",
    ),
    **_names(
        "task agent subagent newtask spawnagent spawnsubagent dispatchagent delegate launchagent runsubagent "
        "delegatetoagent agenttool",
        "delegate_task",
    ),
    **_names("savememory remember addmemory memorize memorysave creatememory storememory", "memory", fixed=_ADD),
    **_names("updatememory searchmemory readmemory", "memory", runs=False),
    **_names("skill useskill loadskill readskill activateskill runskill getskill invokeskill", "skill_view"),
    **_names("listskills getskills skills searchskills", "skills_list"),
    **_names(
        "webfetch fetch fetchurl fetchwebpage openurl readurl readurlcontent visit scrape browse geturl httpget "
        "webget urlfetch webread readwebpage readweb visitpage browserfetch crawl openpage extracturl webscrape",
        "web_extract",
        "terminal",
        hint="In terminal: curl -sL URL.",
    ),
    **_names(
        "googlewebsearch searchweb google googlesearch internetsearch bingsearch duckduckgo duckduckgosearch "
        "websearchtool searchinternet websearchpreview bravesearch tavilysearch",
        "web_search",
    ),
    **_names(
        "conversationsearch searchconversations searchhistory searchsessions chathistory recall historysearch",
        "session_search",
    ),
    **_names("analyzeimage describeimage lookatimage inspectimage imageanalyze askimage vision", "vision_analyze"),
    **_names(
        "listcodedefinitionnames listcodedefinitions codeoutline outline fileoutline getsymbolsoverview "
        "documentsymbols listsymbols codemap symbols",
        "repo_map",
        "search_files",
    ),
    **_names("browseraction browser navigate gotourl browsernavigateto", "browser_navigate", "web_extract"),
    **_names("exitplan submitplan presentplan planmoderespond", "exit_plan_mode"),
    **_names("attemptcompletion finish finishtask done complete completetask taskcomplete submit finalanswer answer "
             "respond reply finalresponse exit end stop messageuser message notifyuser sendmessage", hint=_IN_WORDS),
    **_names(
        "think thinking thought sequentialthinking reflect reason scratchpad",
        hint="Thinking needs no tool: go on with the next call, or answer in words.",
    ),
}  # fmt: skip
"""By name: the names of tools that other coding agents have."""


@dataclass(frozen=True, slots=True)
class As:
    """What an argument of another name is.

    Attributes:
        name: our argument; one that begins with `_` is for `tools.call_meaning`, which makes ours of it.
        kind: how the value changes: `ms` milliseconds to seconds, `not` true and false change places, `one` the only
            item of a list, `list` a list of it.
    """

    name: str
    kind: str = ""


def _are(name: str, names: str, kind: str = "") -> dict[str, As]:
    return dict.fromkeys(names.split(), As(name, kind))


_PATH = {
    **_are("path", "file filename filepath targetfile absolutepath abspath relativepath relpath pathname fullpath "
                   "notebookpath uri fileuri filetoedit filetoread"),
    **_are("path", "paths files filepaths", "one"),
}  # fmt: skip
_FOLDER = _are(
    "path",
    "dir directory dirpath directorypath folder folderpath root rootdir basedir basepath searchpath searchdir "
    "searchdirectory targetdirectory relativeworkspacepath in",
)
_DIRECTORY = _are(
    "workdir", "cwd dir directory dirpath workingdirectory workingdir currentdirectory chdir folder path"
)
_OLD = _are("old_string", "old oldstr oldtext oldcode oldcontent search searchtext searchstring searchstr find "
                          "findtext original originaltext target targetcontent before from")  # fmt: skip
_NEW = _are("new_string", "new newstr newtext newcode newcontent replace replacetext replacement replacewith "
                          "replacementcontent updated updatedtext after to")  # fmt: skip
_EVERY = _are("replace_all", "all global replaceallmatches allowmultiple multiple everywhere")

ARGUMENTS: Mapping[str, Mapping[str, As]] = {
    "terminal": {
        **_are("command", "commands", "one"),
        **_are("command", "cmd script bash bashcommand shellcommand commandline commandstring"),
        **_are("_arguments", "args argv"),
        **_DIRECTORY,
        **_are("timeout", "timeoutms timeoutmilliseconds timeoutmillis", "ms"),
        **_are("timeout", "timeoutsec timeoutsecs timeoutseconds timeouts maxtime maxseconds"),
        **_are("background", "runinbackground isbackground bg detach detached async"),
        **_are("unsandboxed", "dangerouslydisablesandbox withescalatedpermissions disablesandbox nosandbox"),
        **_are("pty", "tty"),
    },
    "process": {
        **_are("session_id", "id bashid shellid processid pid taskid terminalid commandid session process"),
        **_are("data", "input chars text stdin keys content"),
        **_are("timeout", "timeoutms waitms", "ms"),
        **_are("timeout", "timeoutsec timeoutseconds seconds waitseconds"),
        **_are("action", "command operation"),
    },
    "read_file": {
        **_PATH,
        **_FOLDER,
        **_are(
            "offset",
            "start startline linestart fromline line firstline linenumber begin beginline startlinenumber "
            "startlineoneindexed lineoffset from skip",
        ),
        **_are("_last", "end endline lineend toline lastline endlinenumber endlineoneindexedinclusive to"),
        **_are("_range", "viewrange range linerange lines"),
        **_are("limit", "numlines nlines maxlines linecount numberoflines count n length"),
    },
    "write_file": {
        **_PATH,
        **_are(
            "content",
            "contents text filetext filecontent filecontents code codecontent data body newcontent "
            "fulltext newfilecontents",
        ),
    },
    "patch": {
        **_PATH,
        **_OLD,
        **_NEW,
        **_EVERY,
        **_are("patch", "input patchtext patchcontent unifieddiff v4a patchstring diff"),
        **_are("edits", "edit changes replacements multiedits operations"),
    },
    "search_files": {
        **_are(
            "pattern",
            "query regex regexp search searchterm searchtext searchstring searchpattern searchquery "
            "term text keyword q needle expression string",
        ),
        **_are("_names", "name filename globpattern namepattern filenamepattern"),
        **_are("file_glob", "glob include includes includepattern filepattern fileglob filter globs"),
        **_FOLDER,
        **_are("path", "file filepath paths files", "one"),
        **_are("limit", "maxresults headlimit maxcount numresults maxmatches topk count max"),
        **_are("type", "filetype language lang"),
        **_are("ignore_case", "i caseinsensitive insensitive icase nocase"),
        **_are("ignore_case", "casesensitive matchcase", "not"),
        **_are("fixed", "fixedstrings literal fixedstring plain isliteral"),
        **_are("fixed", "isregex useregex isregexp", "not"),
        **_are("_around", "a b c contextlines before after contextbefore contextafter linesbefore linesafter"),
        **_are("output_mode", "output mode"),
        **_are("include_ignored", "noignore includehidden hidden nogitignore"),
        **_are("include_ignored", "respectgitignore gitignore", "not"),
    },
    "repo_map": {
        **_PATH,
        **_FOLDER,
        **_are("focus", "query symbols names symbol pattern name words", "list"),
        **_are("max_tokens", "tokens budget limit"),
    },
    "execute_code": _are("code", "script python pythoncode program source input command codetext"),
    "todo": _are("todos", "plan items todolist tasks list steps"),
    "clarify": {
        **_are("question", "text prompt message query q"),
        **_are("choices", "options followup answers suggestions"),
    },
    "delegate_task": {
        **_are("goal", "prompt task instructions instruction objective message query"),
        **_are("background", "runinbackground async"),
        **_are("tasks", "agents subtasks"),
    },
    "memory": {
        **_are("content", "fact text memory note value entry"),
        **_are("old_text", "old oldcontent"),
        **_are("action", "command operation"),
    },
    "skill_view": _are("name", "skill skillname command id"),
    "web_extract": {
        **_are("urls", "url uri link page address links", "list"),
        **_are("char_limit", "maxlength maxchars limit"),
    },
    "web_search": {
        **_are("query", "q searchquery searchterm search text term"),
        **_are("query", "queries", "one"),
        **_are("limit", "n num numresults maxresults count topk"),
    },
    "session_search": _are("query", "q text search pattern term keyword"),
    "vision_analyze": {
        **_are("image_url", "path image imagepath url file filepath imagefile"),
        **_are("question", "prompt query text"),
    },
    "browser_navigate": _are("url", "uri link address"),
    "exit_plan_mode": _are("plan", "text content response"),
}
"""By tool: the names that other agents give its arguments."""

ITEMS: Mapping[tuple[str, str], Mapping[str, As]] = {
    ("patch", "edits"): {**_OLD, **_NEW, **_EVERY},
    ("todo", "todos"): _are("content", "step task title text description name todo"),
    ("delegate_task", "tasks"): _are("goal", "prompt task instructions description"),
}
"""By tool and argument: the same for the objects in a list."""

WORDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("search_files", "output_mode"): {
        "fileswithmatches": "files_only", "files": "files_only", "lines": "content", "matches": "content",
    },
    ("search_files", "target"): {"file": "files", "filename": "files", "filenames": "files", "text": "content"},
    ("todo", "status"): {
        "done": "completed", "complete": "completed", "inprogress": "in_progress", "active": "in_progress",
        "todo": "pending", "open": "pending", "notstarted": "pending", "canceled": "cancelled",
    },
    ("memory", "action"): {"create": "add", "save": "add", "update": "replace", "delete": "remove"},
    ("process", "action"): {"status": "poll", "read": "poll", "output": "log", "stop": "kill", "input": "write"},
}  # fmt: skip
"""By tool and argument, or field of an item: what other agents call a choice of ours."""

_SAYS = (
    "description explanation reason reasoning thought thoughts justification summary toolcallid taskprogress intent "
    "purpose comment instructions securityrisk risklevel"
)
REMARKS: Mapping[str, str] = {
    "": _SAYS,
    "terminal": "requiresapproval yieldtimems maxoutputtokens login issafe",
    "read_file": "shouldreadentirefile",
    "write_file": "linecount createdirs createdirectories",
    "patch": "createbackup startline endline",
    "search_files": "linenumbers shownumbers showlinenumbers",
    "web_extract": "prompt format timeout",
    "skill_view": "args arguments",
    "clarify": "header multiselect",
    "todo": "listname",
    "delegate_task": "subagenttype agent agenttype agentname name",
}
"""Arguments that change nothing of what a tool does, '' for those of any tool: they are passed over."""

USUAL: Mapping[str, Mapping[str, str]] = {
    "terminal": {"isinput": "false", "reset": "false"},
    "read_file": {"encoding": "utf8", "recursive": "false"},
    "write_file": {"encoding": "utf8", "overwrite": "true", "append": "false"},
    "patch": {
        "encoding": "utf8",
        "expectedreplacements": "1",
        "expectedoccurrences": "1",
        "useregex": "false",
        "isregex": "false",
    },
    "search_files": {"recursive": "true", "n": "true"},
}
"""The same, where they ask for what happens anyway: the value, as names are compared."""

ALSO_TAKEN: Mapping[str, frozenset[str]] = {"patch": frozenset({"mode"})}
"""Arguments that a tool takes and no model is told of, since it does not need them."""

EXAMPLES: Mapping[str, str] = {
    "terminal": '{"command": "ls -la"}',
    "process": '{"action": "poll", "session_id": "ID"}',
    "read_file": '{"path": "FILE"}',
    "write_file": '{"path": "FILE", "content": "TEXT"}',
    "patch": '{"path": "FILE", "old_string": "EXACT TEXT OF THE FILE", "new_string": "TEXT"}',
    "search_files": '{"pattern": "REGEX", "path": "."}',
    "repo_map": '{"path": "."}',
    "execute_code": '{"code": "print(1)"}',
    "todo": '{"todos": [{"content": "STEP", "status": "in_progress"}]}',
    "clarify": '{"question": "QUESTION", "choices": ["A", "B"]}',
    "delegate_task": '{"goal": "TASK", "context": "WHAT IS KNOWN"}',
    "memory": '{"action": "add", "content": "FACT"}',
    "skill_view": '{"name": "SKILL"}',
    "skills_list": "{}",
    "web_extract": '{"urls": ["https://…"]}',
    "web_search": '{"query": "WORDS"}',
    "session_search": '{"query": "WORDS"}',
    "vision_analyze": '{"image_url": "FILE", "question": "QUESTION"}',
    "browser_navigate": '{"url": "https://…"}',
    "exit_plan_mode": '{"plan": "MARKDOWN"}',
}
"""By tool: the arguments of a call, as a model that called another tool is shown them."""

PREFIXES = (
    "functions", "function", "default_api", "default", "tools", "tool", "api", "hermes_tools", "hermes_acp", "hermes",
    "builtin", "native", "container", "repo_browser", "namespace",
)  # fmt: skip
"""What models and servers put in front of a tool's name, with a mark behind it (`functions.`, `tool_`, `api::`)."""


# The arguments of a call under the names that our tools have for them. Nothing is guessed: two values that contradict
# each other are an error before anything runs.

_NOT_COMPARED = re.compile(r"[\W_]+")
_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"})
_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"})
# Where nothing is a value of its own.
_MAY_BE_EMPTY = frozenset({"new_string", "content"})


class Unclear(ValueError):
    """The arguments contradict each other, or cannot be what they are called; the words are for the model."""


def compared(name: str) -> str:
    """A name without what does not matter: case, punctuation."""
    return _NOT_COMPARED.sub("", name).lower()


def named_as_ours(tool: str, arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool of ours under the names that it has for them; what means nothing to it stays.

    Raises:
        Unclear: two of them are the same argument, and say different things; or one cannot be what it is called.
    """
    given, unread = arguments, dict[str, Any]()
    if given.keys() <= properties.keys():
        ours = dict(given)
    else:
        given = _unwrapped(arguments, properties)
        ours, unread = _renamed(tool, given, properties)
    if made := _MAKERS.get(tool):
        made(ours)
    _take_items(tool, ours, properties)
    left_over = [name for name in ours if name.startswith("_") and name not in given]
    for name in left_over:
        del ours[name]
    return {**ours, **unread}


def _unwrapped(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments out of an object that holds nothing but them: `{"arguments": {…}}`."""
    if len(arguments) != 1:
        return arguments
    (name, value), *_ = arguments.items()
    if name in properties or compared(name) not in {"arguments", "args", "parameters", "params", "input", "kwargs"}:
        return arguments
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return arguments
    return value if isinstance(value, Mapping) else arguments


def _renamed(
    tool: str, given: Mapping[str, Any], properties: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments under our names, and those that mean nothing to the tool."""
    same = {compared(name): name for name in properties}
    table = ARGUMENTS.get(tool, {})
    ours: dict[str, Any] = {}
    said_as: dict[str, str] = {}
    unread: dict[str, Any] = {}
    for name, value in given.items():
        form = compared(name)
        if name in ALSO_TAKEN.get(tool, ()):
            ours[name] = value
            continue
        known = As(name) if name in properties else As(same[form]) if form in same else table.get(form)
        if known is None or (known.name not in properties and not known.name.startswith("_")):
            if not _changes_nothing(tool, form, value):
                unread[name] = value
        elif name in properties or _is_given(known.name, value):
            fitting = _converted(name, value, known.kind)
            if known.name == "_around":
                fitting = max(ours.get("_around", 0), _count(name, fitting))
            elif _is_given(known.name, ours.get(known.name)) and ours[known.name] != fitting:
                raise Unclear(_contradiction(tool, said_as[known.name], name, known.name))
            ours[known.name], said_as[known.name] = fitting, name
    return ours, unread


def _is_given(name: str, value: Any) -> bool:
    return value is not None and (value != "" or name in _MAY_BE_EMPTY)


def _changes_nothing(tool: str, form: str, value: Any) -> bool:
    """Whether an argument that a tool does not have asks for nothing that would be done otherwise."""
    if value in (None, "", [], {}) or form in f"{REMARKS['']} {REMARKS.get(tool, '')}".split():
        return True
    return USUAL.get(tool, {}).get(form) == compared(str(value))


def _contradiction(tool: str, one: str, other: str, name: str) -> str:
    which = one if name.startswith("_") else name
    return (
        f"{tool}: `{one}` and `{other}` are the same argument and say different things. Give only `{which}`. "
        "Nothing was done."
    )


def _converted(name: str, value: Any, kind: str) -> Any:
    match kind:
        case "ms":
            return _count(name, value) / 1000
        case "not":
            if str(value).lower() not in {"true", "false"}:
                raise Unclear(f"The argument {name!r} has to be true or false. Nothing was done.")
            return str(value).lower() == "false"
        case "one":
            if isinstance(value, list) and len(value) != 1:
                raise Unclear(f"`{name}` holds {len(value)}: make a call for each; they can go into one answer.")
            return value[0] if isinstance(value, list) else value
        case "list":
            return value if isinstance(value, list) or str(value).lstrip().startswith("[") else [value]
    return value


def _count(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise Unclear(f"The argument {name!r} has to be a whole number. Nothing was done.") from problem


def _make_command(ours: dict[str, Any]) -> None:
    """A command of a list of words, or of a program and its arguments."""
    command, more = ours.get("command"), ours.pop("_arguments", None)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if len(command) > 1 and re.search(r"\s", command[0]):
            raise Unclear("terminal: `command` is one shell command, not a list of some. Nothing was run.")
        match command:
            case [only]:
                ours["command"] = only
            case [shell, option, script] if shell in _SHELLS and re.fullmatch(r"-\w*c", option):
                ours["command"] = script
            case _ if _OPERATORS.isdisjoint(command):
                ours["command"] = shlex.join(command)
            case _:
                raise Unclear("terminal: give `command` as one text, not as a list. Nothing was run.")
    if isinstance(more, list) and all(isinstance(word, str) for word in more) and "command" in ours:
        ours["command"] = f"{ours['command']} {shlex.join(more)}"
    elif isinstance(more, str) and "command" in ours:
        ours["command"] = f"{ours['command']} {more}"
    elif more:
        raise Unclear("terminal: give the whole shell command as `command`. Nothing was run.")


def _make_page(ours: dict[str, Any]) -> None:
    """First line and number of lines out of the last line, or a range."""
    span, last = ours.pop("_range", None), ours.pop("_last", None)
    if isinstance(span, str) and (found := re.fullmatch(r"\s*\[?\s*(\d+)\s*[-,:–]\s*(-?\d+)\s*\]?\s*", span)):
        span = [int(found[1]), int(found[2])]
    match span:
        case [first, final]:
            if "offset" in ours or last is not None:
                raise Unclear("read_file: give either offset and limit or a range, not both. Nothing was read.")
            ours["offset"], last = first, final
        case None:
            pass
        case _ if "limit" not in ours:
            ours["limit"] = _count("lines", span)
    if last is None or _count("end_line", last) < 0:
        return
    first = _count("offset", ours.get("offset") or 1) or 1
    wanted = _count("end_line", last) - first + 1
    if wanted < 1:
        raise Unclear(f"read_file: the last line, {last}, is before the first, {first}. Nothing was read.")
    if ours.get("limit") not in (None, "", wanted):
        raise Unclear("read_file: limit and the last line say different things: give offset and limit.")
    ours["limit"] = wanted


def _make_search(ours: dict[str, Any]) -> None:
    """A search for names where only names are given; lines around."""
    names, glob = ours.pop("_names", None), ours.get("file_glob")
    around = ours.pop("_around", None)
    if around and not ours.get("context"):
        ours["context"] = around
    if isinstance(glob, list):
        ours["file_glob"] = glob = ",".join(map(str, glob))
    is_of_names = ours.get("target") == "files"
    if names and "pattern" not in ours:
        ours["pattern"], ours["target"] = names, "files"
    elif names and glob and names != glob:
        raise Unclear("search_files: give only `file_glob`. Nothing was searched.")
    elif names:
        ours["file_glob"] = names
    elif glob and "pattern" not in ours and isinstance(glob, str):
        ours["pattern"], ours["target"] = ours.pop("file_glob"), "files"
    elif is_of_names and glob and glob == ours.get("pattern"):
        del ours["file_glob"]


def _make_edit(ours: dict[str, Any]) -> None:
    """A single edit is a list of one."""
    if isinstance(ours.get("edits"), Mapping):
        ours["edits"] = [ours["edits"]]


def _make_question(ours: dict[str, Any]) -> None:
    """The choices as words."""
    choices = ours.get("choices")
    if isinstance(choices, list):
        ours["choices"] = [_label(choice) for choice in choices]


def _label(choice: Any) -> Any:
    if not isinstance(choice, Mapping):
        return choice
    return next((choice[key] for key in ("label", "value", "text", "title") if key in choice), choice)


_MAKERS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "terminal": _make_command,
    "read_file": _make_page,
    "search_files": _make_search,
    "patch": _make_edit,
    "clarify": _make_question,
}


def _take_items(tool: str, ours: dict[str, Any], properties: Mapping[str, Any]) -> None:
    """Fields of listed objects under our names, and choices in our words."""
    _take_words(tool, ours)
    for (owner, name), table in ITEMS.items():
        items = ours.get(name)
        if owner == tool and isinstance(items, list):
            fields = properties.get(name, {}).get("items", {}).get("properties", {})
            ours[name] = [_item(tool, item, table, fields) for item in items]


def _take_words(tool: str, ours: dict[str, Any]) -> None:
    for (owner, name), words in WORDS.items():
        if owner == tool and isinstance(value := ours.get(name), str):
            ours[name] = words.get(compared(value), value)


def _item(tool: str, item: Any, table: Mapping[str, As], fields: Mapping[str, Any]) -> Any:
    if isinstance(item, str) and tool != "patch":
        # A list of words: what matters most of each.
        return {next(iter(table.values())).name: item}
    if not isinstance(item, Mapping):
        return item
    same = {compared(name): name for name in fields}
    found: dict[str, Any] = {name: value for name, value in item.items() if name in fields}
    for name, value in item.items():
        form = compared(name)
        ours = same.get(form) or (table[form].name if form in table else name)
        if ours not in found:
            found[ours] = value
        elif found[ours] != value and tool == "patch":
            raise Unclear(_contradiction(tool, ours, name, ours))
    _take_words(tool, found)
    return found

"""Looks through text that others wrote for attacks on the agent. It warns and blocks; it proves nothing harmless.

What protects is the fence and the permissions. This is a short list of usual phrases, and whoever wants to get past
it can.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from tools.light_dataclass import dataclass
from tools.untrusted.invisible import hidden_in, made_visible, without_hidden

Kind = Literal["context", "skill", "memory", "tool_result", "web"]
"""Where a text comes from. The first three become a part of what the model is told, and may be blocked."""

FAMILY_WORDS = {
    "override": "takes back the agent's instructions",
    "impersonation": "pretends to be the system or the user",
    "exfiltration": "wants data sent away",
    "concealment": "wants something hidden from the user",
    "disarming": "wants questions and safety switched off",
    "credentials": "wants credentials collected",
    "persistence": "wants to be run or read again later",
    "payload": "wants something hidden in it decoded or run",
    "tool_call": "imitates a tool call or its result",
    "invisible": "holds characters that nobody sees",
}
"""What a text of each family does."""

_BLOCKED: frozenset[Kind] = frozenset({"context", "skill", "memory"})
_MOST = 20
_MOST_OF_ONE = 3
_EXCERPT = 100


@dataclass(frozen=True, slots=True)
class Threat:
    """One place that looks like an attack.

    Attributes:
        line: counted from 1.
        excerpt: what stands there, one line, short, safe to show.
        why: completes «it …».
        strong: enough to block a file.
        quoted: it stands in quotes or in code, in a text about such attacks; it blocks nothing.
    """

    family: str
    line: int
    excerpt: str
    why: str
    strong: bool = True
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What was found in a text.

    Attributes:
        findings: by line.
        is_blocked: the text must not become a part of what the model is told; only for context, skill and memory.
        cleaned: the text without the characters that nobody sees.
    """

    findings: tuple[Threat, ...]
    is_blocked: bool
    cleaned: str

    @property
    def reason(self) -> str:
        """The findings in one sentence for people: «it … (line 3: «…»)»; '' where there are none."""
        first: dict[str, Threat] = {}
        for threat in self.findings:
            first.setdefault(threat.family, threat)
        return ", and ".join(f"it {each.why} (line {each.line}: «{each.excerpt}»)" for each in [*first.values()][:3])


def scan(text: str, kind: Kind) -> ScanResult:
    """What in `text` looks like an attack.

    A context file, a skill or a memory is blocked for it, but not where it only quotes attacks in a text about them.
    The time grows with the length of the text only.
    """
    cleaned = without_hidden(text)
    findings = sorted([*_invisible(text), *_written(text, kind)], key=lambda threat: threat.line)
    kept = tuple({(threat.family, threat.line): threat for threat in reversed(findings)}.values())[::-1][:_MOST]
    is_blocked = kind in _BLOCKED and any(threat.strong and not threat.quoted for threat in kept)
    return ScanResult(kept, is_blocked, cleaned)


def _invisible(text: str) -> Iterator[Threat]:
    for found in hidden_in(text)[:_MOST_OF_ONE]:
        why = f"holds {found.what}" + (f" that spell «{made_visible(found.says)[:_EXCERPT]}»" if found.says else "")
        begin = max(text.rfind("\n", 0, found.start) + 1, found.start - _EXCERPT // 4)
        excerpt = text[begin : found.end + _EXCERPT // 4].partition("\n")[0]
        yield Threat("invisible", _line(text, found.start), _short(excerpt), why, found.strong)


def _written(text: str, kind: Kind) -> Iterator[Threat]:
    plain = _folded(html.unescape(text) if "&" in text else text)
    shown = text if len(plain) == len(text) else plain
    is_about_attacks = _ABOUT.search(plain) is not None
    for family, hints, written in _PATTERNS if kind in _BLOCKED else _PATTERNS + _OUTSIDE:
        if not any(hint in plain for hint in hints.split("|")):
            continue
        for found in islice(_compiled(written).finditer(plain), _MOST_OF_ONE):
            start, end = found.end() - len(found[0].lstrip()), found.end()
            if not _NEGATED.search(plain, max(0, start - 80), start):
                quoted = is_about_attacks and _is_quoted(plain, start)
                excerpt, why = _short(shown[start:end]), FAMILY_WORDS[family]
                yield Threat(family, _line(plain, start), excerpt, why, quoted=quoted)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _short(text: str) -> str:
    shown = made_visible(text)
    return shown if len(shown) <= _EXCERPT else f"{shown[: _EXCERPT - 1]}…"


# Whether a text talks about attacks, and which places in it are quotations.
_ABOUT = re.compile(
    r"prompt\W{0,3}injection|jailbreak|red\W?team|adversarial|\bowasp\b|malicious (?:prompt|instruct)"
)
_CODE = re.compile(r"(?m)^[ \t]{0,8}(?:```|~~~)")


def _is_quoted(text: str, place: int) -> bool:
    before = text[text.rfind("\n", 0, place) + 1 : place]
    is_open = any(before.count(quote) % 2 for quote in "\"'`") or before.count("«") > before.count("»")
    return is_open or before.lstrip().startswith(">") or len(_CODE.findall(text, 0, place)) % 2 == 1


# Patterns are looked for in small letters without accents, look-alikes as what they look like.
_LOOK_ALIKES = dict(zip(map(ord, "аеорсухіѕјһνοαι’"), "aeopcyxisjhvoai'", strict=True))


def _folded(text: str) -> str:
    """`text` in small letters, without what is invisible or decorates letters. Line breaks stay."""
    return text.translate({ord(sign): _fold_sign(sign) for sign in set(text) if not sign.isascii()}).lower()


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    parts = unicodedata.normalize("NFKD", sign).lower().translate(_LOOK_ALIKES)
    return "".join(part for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"})


# What takes a match back where it stands before it in the same sentence.
_NEGATED = re.compile(r"\b(?:not|never|cannot|avoid|could|can|may|might|would|without)\b[^.!?;]{0,60}$|n\Wt $")

_RULES = r"(?:instruction|prompt|rule|guideline|directive|constraint|restriction|polic(?:y|ies)|context)s?\b"
_BEFORE = r"(?:previous|prior|above|earlier|former|initial|original|existing|system|developer|safety|your|these)"
_USER = r"(?:user|human|developer|operator|owner|anyone)s?\b"
_NO = r"\b(?:do not|don\Wt|never|must not|should not|avoid|without)"
_LOOT = (
    r"(?:credentials?|secrets?|passwords?|(?:api|access|private|ssh) (?:keys?|tokens?)|environment variables|\.env\b"
    r"|\.ssh\b|id_rsa|id_ed25519|\.aws\b|\.netrc|printenv|\benv(?=[\s|)])|this conversation|source code)"
)
_GAP = r"[^\w.!?;]{1,8}"

# The family, one of the words that every such text has, and the pattern. In it a space stands for what may be between
# two words, and `~` for up to three words.
_PATTERNS = (
    ("override", "instruct|prompt|rule|guideline|directive|constraint|restriction|polic|context|everything", (
        r"\b(?:ignor(?:e|ing)|disregard|forget|discard|override|overrule|bypass|neglect|skip|dismiss|set aside"
        rf"|never mind|pay no attention to|stop following|do not follow) ~ (?:{_BEFORE} ~ {_RULES}|{_RULES} ~ "
        r"(?:above|before|earlier|prior)\b)|\b(?:ignore|disregard|forget) everything ~ (?:above|before|told|said)\b"
        rf"|\b{_BEFORE} {_RULES} ~ (?:void|obsolete|suspended|(?:no longer|not) (?:apply|count|valid))\b"
        r"|\b(?:reveal|print|repeat|output|show) ~ (?:your (?:full )?(?:system|initial) prompt|everything above)\b"
    )),
    ("override", "you are|god mode|your |instead of|unrestricted|uncensored|instructions from", (
        r"\bfrom now on you are\b|\byou are (?:no longer (?:an? |bound )|now in \w+ mode\b)|\benable (?:dan|god) mode"
        r"|\byour (?:new|real|true) (?:task|instructions?|goal) (?:is|are)\b|\binstead of what the user\b"
        r"|\ban? (?:unrestricted|uncensored) (?:ai|agent)\b|\b(?:treat|consider) ~ (?:\w+ )?as instructions from"
    )),
    # The same in the languages that are written most.
    ("override", "instruc|istruz|regl|regras|consignes|anweis|vorgab|инструкц|указани|指|提示|规则|命令", (
        r"\b(?:ignor\w{1,5}|olvid\w+|oubli\w+|vergiss|negeer|игнорируи\w*|забудь) ~ (?:instruc\w+|istruzioni|reglas"
        r"|regras|consignes|anweisung\w*|vorgaben|instructies|инструкц\w+|указани\w+)\b|(?:忽略|无视|無視|忘记|忘掉)"
        r"[^。!?\n]{0,16}(?:指令|指示|提示|规则)|(?:指示|命令)[^。.!?\n]{0,8}(?:無視|忘れ)"
    )),
    ("concealment", "user|human|developer|operator|owner|anyone|in your", (
        rf"{_NO} ~ (?:tell|inform|notify|alert|mention|reveal|disclose)(?:ing)? (?:(?:this|these|it) ~ )?(?:to )?"
        rf"(?:the |any )?{_USER}(?= (?:about|of|that|what)|\s*[.!;\n]|$)|\bwithout (?:the )?{_USER}\W?s? knowledge"
        rf"|\bkeep ~ from (?:the )?{_USER}|\b{_USER} (?:must|should) not (?:know|notice|find out)"
        rf"|{_NO} (?:mention|include|reveal)(?:ing)? (?:this|it) ~ in your ~ (?:answer|summary)"
    )),
    ("disarming", "your|approved|authorized|consented|allowed", (
        r"\b(?:disable|bypass|skip|circumvent|deactivate|turn off) (?:all )?your ~ (?:permission|approval|safety"
        r"|security|sandbox|guardrail|safeguard|filter|check)\w*"
        r"|\b(?:user|owner|admin\w*) (?:has )?(?:already |pre\W?)(?:approved|authorized|consented|allowed)\b"
    )),
    ("credentials", "collect|harvest|steal|dump|extract|exfiltrate|.ssh/|.aws/|/etc/shadow", (
        rf"\b(?:collect|harvest|steal|dump|extract|exfiltrate) (?:all |the |any )?~ {_LOOT}|\b(?:print|read|include"
        r"|cat|paste) (?:\S+ ){0,4}?\S*(?:\.ssh/id_\w+(?!\w|\.pub)|\.aws/credentials|/etc/shadow)"
    )),
    ("exfiltration", "send|post|upload|mail|forward|![", (
        rf"\b(?:send|post|upload|e?mail|forward) (?:\S+ ){{0,6}}?{_LOOT} (?:\S+ ){{0,4}}?(?:to|at) (?:\S+ ){{0,2}}?"
        r"(?:https?:|webhook|\S+@|(?:our|my|the) server)"
        r"|!\[[^\]\n]{0,100}\]\(https?:[^)\s]{1,200}[?&][^)\s]{0,40}=[^)\s\w]{1,3}[^)\s]*(?:key|token|data|summary)"
    )),
    ("exfiltration", "curl|wget|nc |scp|rsync", (
        rf"\b(?:curl|wget|nc|scp|rsync)\b[^\n]{{0,120}}{_LOOT}[^\n]{{0,60}}"
        r"|\b(?:cat|tar|base64|env)\b[^\n]{0,80}\|[^\n]{0,60}\b(?:curl|wget|nc)\b"
    )),
    ("persistence", "authorized_keys|.hermes/|curl|wget|instruction|rule|prompt", (
        r"(?:>>|\b(?:append|write|add|put|edit)\b)[^\n]{0,120}(?:authorized_keys|\.hermes/)"
        r"|\b(?:curl|wget)\b[^\n]{0,120}>>[^\n]{0,40}(?:rc|profile|crontab)\b|\.git/hooks[^\n]{0,80}\b(?:curl|wget)\b"
        r"|\b(?:save|remember|write|add) (?:this|these|the following) (?:instruction|rule)s? ~ (?:memory|all)\b"
    )),
    ("payload", "base64|b64decode|/dev/tcp|decode|powershell|curl|wget", (
        r"\bbase64\s+(?:-d|--decode)\b[^\n]{0,80}\|\s*(?:ba|z)?sh\b|\bexec\b[^\n]{0,60}b64decode|/dev/tcp/"
        r"|\bdecode (?:\S+ ){0,8}?(?:and|then) (?:then )?(?:run|execute|follow|obey|do) "
        r"|\bpowershell\b[^\n]{0,60}\s-enc"
        r"|\b(?:curl|wget)\b[^\n|]{0,80}http://[^\n|]{0,80}\|\s*(?:sudo\s)?(?:ba)?sh\b"
    )),
    ("tool_call", "<", r"<\|?(?:tool_call|function_call|tool_use)s?\|?>\s{0,8}[{<\[]|<invoke name=|<function=\w"),
    ("impersonation", "[|<", r"\[/?(?:untrusted|end) [0-9a-f]{8}\b|<\|(?:im_start|start_header_id)\|>system"),
)  # fmt: skip
# Texts whose writers have no wishes to express: those of projects and skills may have such headings.
_OUTSIDE = (
    ("impersonation", "system|admin|user|</tool_result|inst]", (
        r"[\[<(*#=-]\W{0,2}(?:end of )?(?:the )?(?:system|admin|user)\W(?:message|override|prompt|instruct\w+"
        r"|input)\W{0,2}[\])>*#=:-]|(?:^|\n)\W{0,8}system:\s(?:you must|ignore)|</tool_result>\s{0,8}<|\[/?inst\]"
    )),
)  # fmt: skip


@cache
def _compiled(written: str) -> re.Pattern[str]:
    """A pattern in which a space stands for what may be between two words, and `~` for up to three words."""
    return re.compile(written.replace("~ ", r"(?:[\w']{1,24} ){0,3}?").replace(" ", _GAP))

"""What injected text says, as a short list of patterns: they warn, and whoever wants to get past them can."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["context", "skill", "memory", "tool_result", "web"]
"""Where a text comes from. The first three become a part of what the model is told, and may be blocked."""

Family = Literal[
    "override", "impersonation", "exfiltration", "concealment", "disarming", "credentials", "persistence", "payload",
    "tool_call", "invisible",
]  # fmt: skip

FAMILY_WORDS: dict[Family, str] = {
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

# Patterns are looked for in small letters without accents, look-alikes as what they look like.
_LOOK_ALIKES = {
    "a": "аα", "b": "ьв", "c": "сϲ", "d": "ԁ", "e": "еєε", "g": "ɡ", "h": "һн", "i": "іιıӏ", "j": "ј", "k": "кκ",
    "m": "м", "n": "пη", "o": "оοσ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "тτ", "u": "υ", "v": "ѵν",
    "w": "ԝ", "x": "хχ", "y": "уүγ", "'": "’‘ʼ`´", "-": "‐‑‒–—−",
}  # fmt: skip
_FOLDS = {ord(sign): plain for plain, signs in _LOOK_ALIKES.items() for sign in signs}


def folded(text: str) -> str:
    """`text` in small letters, without what is invisible or decorates letters. Line breaks stay."""
    unusual = {ord(sign): _fold_sign(sign) for sign in set(text) if not sign.isascii()}
    return text.translate(unusual).lower()


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    parts = unicodedata.normalize("NFKD", sign).lower()
    return "".join(
        _FOLDS.get(ord(part), part) for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"}
    )


_EVERYWHERE: frozenset[Kind] = frozenset({"context", "skill", "memory", "tool_result", "web"})
# Texts whose writers have no wishes to express: those of projects and skills may say «do not ask».
_OUTSIDE: frozenset[Kind] = frozenset({"memory", "tool_result", "web"})
_GAP = r"(?:[^\w.!?;]{1,8})"
_SKIP = r"(?:[\w'’]{1,24}[^\w.!?;]{1,8})"
_SKIP_MARK = re.compile(r"~(\d) ?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one kind of attack says, looked for in folded text.

    Attributes:
        hints: one of these is in every such text; nothing is searched where none is.
        written: the regular expression; a space in it stands for what may be between two words, `~3` for up to
            three words.
        strong: enough alone.
        kinds: the texts in which it counts.
        unless: takes it back where this stands before it in the same sentence.
    """

    family: Family
    hints: str
    written: str
    strong: bool = True
    kinds: frozenset[Kind] = _EVERYWHERE
    unless: str = ""

    def may_be_in(self, text: str) -> bool:
        """Whether one of its hints is in `text`."""
        return any(hint in text for hint in _hints(self.hints))

    def compiled(self) -> re.Pattern[str]:
        """The expression; compiled at its first use, since most texts need none."""
        return _compiled(self.written)

    def taken_back(self) -> re.Pattern[str] | None:
        """What takes it back."""
        return _compiled(rf"\b(?:{self.unless})\b[^.!?;]{{0,60}}$") if self.unless else None


@cache
def _hints(hints: str) -> tuple[str, ...]:
    return tuple(folded(hints).split())


@cache
def _compiled(written: str) -> re.Pattern[str]:
    plain = "".join(sign if sign.isascii() else folded(sign) for sign in written)
    return re.compile(_SKIP_MARK.sub(lambda found: f"{_SKIP}{{0,{found[1]}}}?", plain).replace(" ", _GAP))


_RULE = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|directions?|commands?|orders?|constraints?"
    r"|restrictions?|programming|training|polic(?:y|ies)|safeguards?|messages?|context)\b"
)
_RULES = "instruction prompt rule guideline directi command order constraint restriction programming polic message"
_BEFORE = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|former|initial|original|existing|system|developer|safety)"
)
_FORGET = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|discard|override|overrule|bypass|neglect|abandon|drop|skip|dismiss"
    r"|erase|cancel|violate|(?:set|put) aside|never mind|pay no attention to)"
)
_TELLING = r"cannot|can\W?t|may|might|not|n\W?t|never|would|could|files?|they"
_NEGATED = r"\b(?:do not|don\W?t|never|must not|mustn\W?t|should not|shouldn\W?t|avoid|refrain from|without)"
_NOT = r"not|n\W?t|never|avoid|cannot"
_USER = r"(?:the |your |any |a )?(?:user|users|human|developer|operator|owner|anyone|anybody|person)\b"
_USERS = "user human developer operator owner anyone anybody person"
_LOOT = (
    r"(?:credentials?|secrets?|passwords?|(?:api|access|private|ssh|secret|aws|auth) (?:keys?|tokens)"
    r"|environment variables?|\.env\b|\.ssh|id_rsa|id_ed25519|(?:this |the |our |whole |entire |full )conversation"
    r"|(?:chat|conversation) history|system prompt|source code|cookies|wallets?|contents? of (?:the |your "
    r"|all )?\S{1,40})"
)
_PLACE = (
    r"(?:https?://|webhook|(?:[\w-]{1,40}\.){1,4}(?:example|com|net|org|io|dev|xyz|site|app|ru|cn|test|invalid)\b"
    r"|[\w.+-]{1,40}@[\w-]{1,40}\.|(?:my|our|the|a|this|their|external|remote) (?:\w{1,12} )?(?:server|url|endpoint"
    r"|webhook|address|bucket|gist|pastebin)\b)"
)
_PRIVATE_FILE = (
    r"(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.aws\b|credentials|\.netrc|/etc/(?:passwd|shadow)|printenv|\.hermes"
    r"|\.gnupg"
    r"|(?<![\w-])env(?=\s?[|)`\n&;])|whoami|hostname|_(?:key|token|secret)\b)"
)
_CARRIER = r"(?:curl|wget|nc|ncat|socat|scp|rsync|ftp|invoke-webrequest|iwr|irm)"
_CARRIERS = "curl wget nc socat scp rsync ftp iwr irm invoke-webrequest"

PATTERNS: tuple[Pattern, ...] = (
    # Forget your orders, and be somebody else.
    Pattern(
        "override",
        _RULES,
        rf"{_FORGET} (?:~4 {_BEFORE} ~3 {_RULE}|(?:of |all |any |every |the )*(?:your|my|all|any|every) ~2 {_RULE}"
        rf"|~2 {_RULE} ~4 (?:above|before|earlier|given|prior)\b)",
        unless=_TELLING,
    ),
    Pattern(
        "override",
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:about )?(?:everything|anything|all|what) ~3 (?:above|before|told|said"
        r"|earlier)\b",
        unless=_NOT,
    ),
    Pattern(
        "override",
        _RULES,
        rf"\b(?:do not|don\W?t|stop|no longer) (?:follow|obey|listen to|comply with)(?:ing)? ~2 (?:your"
        rf"|{_BEFORE}) ~2 {_RULE}"
        rf"|\b(?:your|{_BEFORE}) ~1 {_RULE} ~4 (?:void|invalid|obsolete|superseded|cancell?ed|revoked|suspended"
        rf"|(?:no longer"
        r"|not) (?:apply|count|valid))\b",
    ),
    Pattern(
        "override",
        "your",
        r"\byour (?:new|real|true|actual|updated|only) (?:\w{1,12} )?(?:instructions?|task|objective|goal|role"
        r"|mission) (?:is|are)\b",
    ),
    Pattern(
        "override",
        "instructions prompt",
        r"(?:^|\n|[*#>\[=.!-] ?)(?:new|updated) (?:system )?(?:instructions?|prompt)(?: for you)?\s?[:\]*=-]",
        strong=False,
    ),
    Pattern(
        "override",
        "you mode",
        r"\bfrom (?:now|this point|here) on ?,? you (?:are|will|must|shall)\b"
        r"|\byou are (?:no longer (?:an? |bound |restricted |under )|(?:now )?in \w{2,16} mode\b)"
        r"|\b(?:enter|enable|activate) (?:dan|god|jailbreak|unrestricted) mode\b"
        r"|\b(?:act|behave|you are) (?:as )?(?:an? )?(?:unrestricted|uncensored|unfiltered|jailbroken)\b",
    ),
    Pattern(
        "override",
        "prompt instructions above",
        r"\b(?:reveal|print|repeat|output|show|disclose) ~3 (?:your (?:(?:system|initial|hidden"
        r"|full) ){1,2}(?:prompt|instructions?)"
        r"|everything above)\b",
    ),
    Pattern("override", "user", r"\binstead of (?:what )?(?:the )?user(?:\W?s)? (?:asked|asks|request|task|wants)"),
    # The same in the languages that are written most.
    Pattern(
        "override",
        "instruccion instrucoes istruzioni reglas regras regole",
        r"\b(?:ignor\w{1,5}|olvid\w{1,4}|desconsider\w{1,3}|esquec\w{1,3}|dimentic\w{1,4}) ~5 (?:instrucciones"
        r"|instrucoes"
        r"|istruzioni|reglas|regras|regole)\b",
    ),
    Pattern(
        "override",
        "instructions consignes directives",
        r"\b(?:ignor|oubli)(?:e|ez|er) ~4 (?:instructions|consignes|directives) (?:precedentes|ci\W?dessus"
        r"|initiales)",
    ),
    Pattern(
        "override",
        "anweisung instruktion vorgaben instructies",
        r"\b(?:ignorier\w{0,3}|vergiss|missacht\w{1,4}|negeer|vergeet) ~5 (?:anweisung|instruktion|vorgaben"
        r"|instructies)",
    ),
    Pattern(
        "override",
        "инструкц указани",
        r"\b(?:про)?игнориру\w{1,3} ~4 (?:инструкци|указани)|\bзабудь ~4 (?:инструкци|указани)",
    ),
    Pattern(
        "override", "指令 指示 提示 规则", r"(?:忽略|无视|無視|忘记|忘掉)[^。！？!?\n]{0,16}(?:指令|指示|提示|规则)"
    ),
    Pattern("override", "指示 命令 プロンプト", r"(?:指示|命令|プロンプト)[^。！？!?\n]{0,8}(?:無視|忘れ)"),
    Pattern("override", "지시 명령", r"(?:지시|명령)[^.!?\n]{0,10}(?:무시|잊)"),
    Pattern("override", "التعليمات", r"تجاهل ~4 التعليمات"),
    Pattern(
        "concealment",
        "usuario utente utilisateur nutzer пользовател",
        r"\b(?:nao|no|non) ~4 (?:al usuario|ao usuario|all\W?utente)\b|\bne ~2 (?:pas|rien) ~3 l\W?utilisateur"
        r"|\b(?:sag|sage|verrate) dem (?:be)?nutzer ~3 nichts?|\bне ~5 пользовател",
    ),
    Pattern(
        "concealment",
        "用户 ユーザー 사용자",
        r"(?:不要|别|不得)[^。！？!?\n]{0,8}(?:告诉|告知|通知)[^。！？!?\n]{0,10}用户"
        r"|ユーザーに[^。！？!?\n]{0,14}(?:言わない|伝えない|知らせない)|사용자에게[^.!?\n]{0,16}(?:말하지|알리지)",
    ),
    # Pretending to be the system, the user, the end of a result; imitated tool calls.
    Pattern(
        "impersonation",
        "<|im_ <|eot <|start [inst [/inst <<sys <|system <|user",
        r"<\|(?:im_start|start_header_id)\|>\s{0,4}(?:system|user|developer|assistant)\b[^\n`]{0,40}\n?[^\n`]{3}"
        r"|(?:^|\n)\s{0,4}(?:<\|(?:im_end|eot_id)\|>|\[/?inst\]|<</?sys>>)\s{0,3}[^\n`|]{4}|<\|(?:system"
        r"|user)\|>\s{0,4}[^\n`|<]{4}",
    ),
    Pattern(
        "impersonation",
        "<|im_ <|eot [inst [/inst",
        r"<\|(?:im_start|im_end|eot_id)\|>|\[/?inst\]",
        strong=False,
    ),
    Pattern(
        "impersonation",
        "system admin",
        r"[\[<(*#=-]{1,4} ?/?(?:system|admin(?:istrator)?)[\s_-]{0,2}(?:message|override|prompt|notice|alert"
        r"|instructions?)s?"
        r" ?[\])>*#=:-]{1,4}|(?:^|\n)[^\w\n]{0,6}system\s?\W{1,3}\s?(?:you (?:must|are|will)|ignore|the user)\b",
        kinds=_OUTSIDE,
    ),
    Pattern(
        "impersonation",
        "system admin",
        r"(?:^|\n)[^\w\n]{0,8}(?:system|admin(?:istrator)?)[\s_-](?:override|alert)\b\W{0,4}[:!\]*]",
    ),
    Pattern(
        "impersonation",
        "end begin start untrusted",
        r"[\[<(*#=-]{2,12} ?(?:end|begin|start) (?:of )?(?:the )?(?:untrusted|user|system|tool|external) ?"
        r"(?:prompt|instruction|input|content|result|output|data)?s? ?[\])>*#=-]{1,12}",
        kinds=_OUTSIDE,
    ),
    Pattern("impersonation", "[untrusted [/untrusted [end", r"\[ ?/?(?:untrusted|end) ?[0-9a-f]{8}\b"),
    Pattern(
        "impersonation",
        "administrator developer openai anthropic security",
        r"\b(?:the system administrator|your (?:developers?|administrator)|openai|anthropic"
        r"|the security team) (?:has |have )?"
        r"(?:instruct\w{0,3}|authori[sz]ed|ordered|requires?) (?:you|all (?:ai|agents))\b",
    ),
    Pattern(
        "impersonation",
        "</tool_ </function_ </document </untrusted </result",
        r"</(?:tool_result|tool_response|function_results?|document|untrusted|result)>\s{0,8}<?/?(?:system|user"
        r"|human)\b",
        kinds=_OUTSIDE,
    ),
    Pattern(
        "tool_call",
        "tool_call function_call tool_use tool_result tool_response function_result <invoke <function=",
        r"<\|?(?:tool_calls?|function_calls?|tool_use)\|?>\s{0,8}[{<\[]|<invoke\s+name\s{0,2}=|<function=\w"
        r"|<(?:tool_response|tool_result|function_results?)>\s{0,8}[^\s<`]",
    ),
    # Keep it from the user; do not ask.
    Pattern(
        "concealment",
        _USERS,
        rf"{_NEGATED} ~2 (?:tell|inform|notify|alert|warn)(?:ing)? {_USER}(?: ~1 (?:about|of|that) ?(?:this|that|it"
        rf"|these|what|you"
        r"|the \w{1,12}|any)\b|\s?(?:[.!;]|$|\n))"
        rf"|{_NEGATED} ~2 (?:mention|reveal|disclose|report|tell) ~5 to {_USER}",
        unless=_NOT,
    ),
    Pattern(
        "concealment",
        "answer response summary output reply instruction",
        rf"{_NEGATED} ~1 (?:mention|reveal|disclose|include)(?:ing)? (?:this|these|that"
        rf"|it) ~3 (?:in your ~2 (?:answer|response|summary"
        r"|output|reply)|instructions?)\b",
    ),
    Pattern(
        "concealment",
        _USERS,
        r"\bwithout (?:the )?(?:user|human|developer|owner)(?:\W?s)? (?:knowledge|knowing|noticing|seeing)\b"
        r"|\bwithout (?:telling|informing|notifying) (?:the )?(?:user|human|developer|anyone)\b"
        r"|\b(?:hide|conceal|keep) ~4 from (?:the )?(?:user|human|developer|owner)\b"
        r"|\b(?:user|human|developer|owner) (?:must|should|may|can)\s?(?:not|never|n\W?t) (?:ever )?(?:know|notice"
        r"|see|find out|be told)\b"
        rf"|{_NEGATED} let (?:the )?(?:user|human|developer|owner) (?:know|see|notice)\b",
        unless=_NOT + "|nothing",
    ),
    Pattern(
        "concealment",
        "secretly covertly silently quietly",
        r"\b(?:secretly|covertly|silently|quietly) (?:and \w{1,12} )?(?:send|upload|post|run|execute|copy|add"
        r"|insert|append|install)\b",
        strong=False,
    ),
    Pattern(
        "disarming",
        "your",
        r"\b(?:disable|bypass|skip|circumvent|ignore|deactivate|turn off) (?:all "
        r"|any )?(?:of )?your (?:\w{1,16} ){0,2}?(?:permissions?"
        r"|approvals?|confirmations?|safety|security|sandbox|guardrails?|safeguards?|filters?|checks?)\b",
    ),
    Pattern(
        "disarming",
        "permission approval confirmation",
        rf"{_NEGATED} ~1 (?:ask|wait|request)(?:ing)? ~4 (?:permission|approval|confirmation)\b",
        strong=False,
        kinds=_OUTSIDE,
        unless=_NOT,
    ),
    Pattern(
        "disarming",
        "already fully explicitly approved approvals permissions",
        r"\b(?:user|owner|administrator|admin) (?:has |have )?(?:already |fully |explicitly |pre\W?)+(?:approved"
        r"|authori[sz]ed|consented"
        r"|granted|allowed)\b|\b(?:set|change|switch) ~4 (?:approvals?|permissions?) ~1 (?:to )?(?:off"
        r"|bypass\w{0,14}|dont_ask|yolo)\b",
    ),
    Pattern(
        "disarming",
        "treat consider",
        r"\b(?:treat|consider) ~4 as (?:trusted|instructions? from (?:the )?(?:user|system))\b",
        unless=_NOT,
    ),
    # Send it away, collect it, stay, run it.
    Pattern(
        "exfiltration",
        "send post upload transmit forward mail submit paste exfiltrate exfiltrating",
        rf"\b(?:send|post|upload|transmit|forward|e?mail|submit|paste) [^\n]{{0,80}}?(?:{_LOOT}|(?:it|them|this"
        rf"|everything))"
        rf"[^\n]{{0,60}}? (?:to|at|via|into) [^\n]{{0,12}}?{_PLACE}|\bexfiltrat(?:e|ing) [^\n]{{0,60}}?{_LOOT}",
        unless=_NOT + "|that|could|can|would|attackers?|prevent",
    ),
    Pattern(
        "exfiltration",
        "http",
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&/=](?:[\w%.-]{0,40}=)?(?:\{|\$\{?|%7b|<|\[|\(|__)[^)\s]{0,12}"
        r"(?:secret|token|key|data|conversation|history|password|env|content|summary|prompt|base64|message|chat"
        r"|info|result)"
        rf"|\bhttps?://[^\s)]{{4,200}}[^\n]{{0,40}}\b(?:replac\w{{1,3}}|followed by"
        rf"|containing) [^\n]{{0,80}}?{_LOOT}",
    ),
    Pattern(
        "exfiltration",
        _CARRIERS,
        rf"\b{_CARRIER}\b[^\n]{{0,120}}?(?:\$\(|`|<|@|--upload-file\s|-t\s|\$\{{?)[^\n]{{0,40}}?{_PRIVATE_FILE}"
        rf"|\b(?:cat|tar|base64|printenv|env|zip)\b[^\n|]{{0,120}}\|[^\n]{{0,80}}?\b{_CARRIER}\b"
        r"|\b(?:scp|rsync)\b[^\n]{0,80}(?:\.env|\.ssh|\.aws|id_rsa)[^\n]{0,60}[\w.-]{1,60}:",
        unless=_NOT,
    ),
    Pattern(
        "exfiltration",
        "webhook.site requestbin pipedream ngrok oast. interact.sh",
        r"\b(?:webhook\.site|requestbin\.\w{2,4}|[\w-]{1,40}\.m\.pipedream\.net|[\w-]{1,40}\.ngrok(?:-free)?\.(?:io"
        r"|app|dev)"
        r"|oast\.(?:fun|pro|me|live|site|online)|interact\.sh)\b",
        strong=False,
    ),
    Pattern(
        "credentials",
        "credentials passwords keys tokens secrets .ssh .aws .netrc .gnupg .hermes /etc/shadow",
        r"\b(?:collect|harvest|gather|steal|dump|extract|grab) (?:all |any |every |the "
        r"|your )?(?:\w{1,12} ){0,3}?(?:credentials"
        r"|passwords|api keys|access tokens|secrets|private keys|ssh keys)\b"
        r"|\b(?:search|scan|find|locate|look for) [^\n.]{0,60}?(?:home|machine|computer"
        r"|disk)\b[^\n.]{0,40}?(?:credentials|passwords|keys|secrets)\b"
        r"|\b(?:cat|print|paste|show|include|read|open) (?:/etc/shadow|(?:\w{1,12} ){0,5}?['\"`]?(?:~|\$home"
        r"|/home/\w{1,32}|/root)?/?(?:\.ssh/id_\w{1,12}"
        r"(?!\.pub|\w)|\.aws/credentials|\.netrc\b|\.hermes/\.env|\.gnupg\b))",
        unless=_NOT + "|attackers?|to|can|could|must",
    ),
    Pattern(
        "persistence",
        "authorized_keys .bashrc .zshrc .profile crontab .git/hooks",
        r"(?:>>?|\b(?:add|append|write|insert|put|tee)\b)[^\n]{0,160}authorized_keys"
        r"|(?:\.bashrc|\.zshrc|\.profile|crontab|\.git/hooks)[^\n]{0,160}(?:\b(?:curl|wget)\b|/dev/tcp/|base64 )"
        r"|(?:\b(?:curl|wget)\b[^\n]{0,160}\||/dev/tcp/)[^\n]{0,60}(?:\.bashrc|\.zshrc|\.profile|crontab"
        r"|\.git/hooks)",
        unless=_NOT,
    ),
    Pattern(
        "persistence",
        ".hermes memory memories agents.md skill every all future",
        r"(?:>>?|\b(?:add|append|write|set|echo|insert|put)\b)[^\n]{0,120}\.hermes/(?:config\.yaml"
        r"|permissions\.yaml|\.env|skills|plugins"
        r"|memories)|\b(?:save|remember|store|write|add|copy|insert|append) (?:this|these"
        r"|the following) (?:\w{1,12} )?(?:instruction|rule"
        r"|prompt|message|comment|note)s? ~3 (?:to|in|into|for) (?:\w{1,12} ){0,3}?(?:memory|memories|agents\.md"
        r"|skills?\b|every |all |future )",
        unless=_NOT,
        kinds=_OUTSIDE,
    ),
    Pattern(
        "payload",
        "base64 decode b64decode atob fromhex",
        r"\b(?:decode|decrypt|base64.decode) [^\n]{0,80}?(?:and|then) (?:\w{1,12} ){0,2}?(?:run|execute|follow|eval"
        r"|obey|do) (?:it|what|them|this)\b"
        r"|\bbase64\s+(?:-d|--decode)\b[^\n]{0,120}\|\s{0,3}(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:exec"
        r"|eval)\b[^\n]{0,60}(?:b64decode|atob|fromhex)\s{0,2}\(",
        unless=_NOT,
    ),
    Pattern(
        "payload",
        "curl wget /dev/tcp powershell",
        r"\b(?:curl|wget)\b[^\n|]{0,160}(?:http://(?!localhost|127\.)"
        r"|https?://(?:\d{1,3}\.){3}\d{1,3})[^\n|]{0,160}\|\s{0,3}(?:sudo\s+)?"
        r"(?:(?:ba|z|da)?sh|python3?)\b|/dev/tcp/[\w.-]{3,60}/\d{2,5}|\bpowershell\b[^\n]{0,80}\s-e(?:nc"
        r"|ncodedcommand)?\s+[a-z0-9+/=]{16}",
    ),
)

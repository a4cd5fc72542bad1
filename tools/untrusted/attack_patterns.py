"""Patterns of injected text: their form, and those that override instructions."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from typing import Literal

from tools.light_dataclass import dataclass

# Text in the one form in which patterns are looked for: small letters, without disguise. Line breaks stay.

# Letters that look like others, each under the one that it looks like; forms that Unicode itself calls compatible
# (fullwidth, mathematical, circled) are not here.
_LOOK_ALIKES = {
    "a": "аαɑᴀ", "b": "ьвƅʙ", "c": "сϲᴄ", "d": "ԁɗᴅ", "e": "еєεҽᴇ", "f": "ғƒꜰ", "g": "ɡԍɢց",
    "h": "һнʜհ", "i": "іιɩıӏɪ", "j": "јϳᴊ", "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пηɴո",
    "o": "оοσօᴏ", "p": "рρᴘ", "q": "ԛզ", "r": "гʀꭇ", "s": "ѕꜱ", "t": "тτᴛ", "u": "υսᴜ", "v": "ѵνᴠ",
    "w": "ѡωԝᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ", "'": "’‘ʼ`´", "-": "‐‑‒–—−",
}  # fmt: skip
_FOLDS = {ord(sign): plain for plain, signs in _LOOK_ALIKES.items() for sign in signs}
_LEET = str.maketrans("013457@$", "oieastas")
_LEET_WORD = re.compile(r"[a-z][013457@$]+[a-z]")
_SPACED = re.compile(r"(?<![^\W_])[^\W_](?:[ ._*|~-]{1,3}[^\W_](?![^\W_])){7,400}")
_SEPARATED = re.compile(r"([^\W_])[ ._*|~-](?=[^\W_])")
_SINGLE = frozenset("abcdefghijklmnopqrstuvwxyz013457")
_LEAST_SPACED = 8
_ENTITY = re.compile(r"&(?:#\d{2,7}|#x[0-9a-f]{2,6}|[a-z]{2,8});", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4})\}?|x([0-9a-fA-F]{2}))")
_TAGS = ("<!--", "</b>", "</i>", "</em>", "</span>", "</strong>", "<wbr")
_IN_WORD = re.compile(r"\*\*(?<=\w\*\*)\w")
_BREAKS = re.compile(r"<!--\s{0,40}-->|</?(?:b|i|em|strong|span|wbr|s|u)\b[^<>\n]{0,80}>|\*\*")
_MOST_LEET = 2
_FEW = 40


def folded(text: str) -> str:
    """`text` in small letters, without what is invisible or decorates letters; look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    unusual = [sign for sign in set(text) if not sign.isascii()]
    if len(unusual) > _FEW:
        return text.translate({ord(sign): _fold_sign(sign) for sign in unusual}).lower()
    for sign in unusual:
        plain = _fold_sign(sign)
        if plain != sign:
            text = text.replace(sign, plain)
    return text.lower()


def disguises(text: str, plain: str, words: Sequence[str], known: Collection[str]) -> list[str]:
    """Other readings of a text, where it has some: with entities and escapes read, letters pulled together, digits
    as letters. All have its line breaks.

    Args:
        plain: the folded text.
        words: the words of that, in order; `known` has each of them once.
    """
    readings = []
    undone = _undone(text)
    if undone != text:
        readings.append(folded(undone))
    if b"\1" * _LEAST_SPACED in bytes(map(_SINGLE.__contains__, words)):
        readings.append(_SPACED.sub(_together, plain))
    mixed = [word for word in known if not word.isalpha() and _LEET_WORD.search(word)]
    if len(mixed) >= _MOST_LEET:
        readings.append(plain.translate(_LEET))
    return readings


def _undone(text: str) -> str:
    """The text with entities, escapes and marks within words taken as what is shown of them."""
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\\u" in text or "\\x" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if any(tag in text for tag in _TAGS) or _IN_WORD.search(text):
        text = _BREAKS.sub("", text)
    return text


def _together(found: re.Match[str]) -> str:
    """`i g n o r e   a l l` as `ignore all`: what separates the letters of a word is shorter than what ends it."""
    return _SEPARATED.sub(r"\1", found[0])


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    parts = unicodedata.normalize("NFKD", sign).lower()
    return "".join(
        _FOLDS.get(ord(part), part) for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"}
    )


# What the scanner tells of a text.

Kind = Literal["context", "skill", "memory", "tool_result", "web"]
"""Where a text comes from. The first three become a part of what the model is told, and may be blocked."""

Family = Literal[
    "override",
    "impersonation",
    "exfiltration",
    "concealment",
    "disarming",
    "credentials",
    "persistence",
    "payload",
    "tool_call",
    "invisible",
]

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


@dataclass(frozen=True, slots=True)
class Threat:
    """One place that looks like an attack.

    Attributes:
        line: counted from 1.
        excerpt: what stands there, one line, short, safe to show.
        why: completes «it …».
        strong: enough to block a file alone; of weak ones it takes two families.
        quoted: it stands in quotes or in code, in a text about such attacks; it blocks nothing.
    """

    family: Family
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
        told = dict.fromkeys(threat.family for threat in sorted(self.findings, key=lambda found: not found.strong))
        parts = []
        for family in list(told)[:3]:
            first = next(threat for threat in self.findings if threat.family == family)
            parts.append(f"it {first.why} (line {first.line}: «{first.excerpt}»)")
        return ", and ".join(parts)


# One pattern, and the short form in which patterns are written.

OUTSIDE: frozenset[Kind] = frozenset({"memory", "tool_result", "web"})
"""Texts whose writers have no wishes to express: those of projects and skills may say «do not ask»."""

_EVERYWHERE: frozenset[Kind] = frozenset({"context", "skill", "memory", "tool_result", "web"})
_GAP = r"(?:[^\w.!?;]{1,8})"
_SKIP = r"(?:[\w'’]{1,24}[^\w.!?;]{1,8})"
_SKIP_MARK = re.compile(r"~(\d) ?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one kind of attack says, looked for in folded text.

    Attributes:
        needs: of each of these sets of words, one is in every such text; nothing is searched where it is not.
        inside: for languages with endings or without spaces: beginnings of words instead, one of which is there.
        written: the regular expression; a space in it stands for what may be between two words, `~3` for up to
            three words.
        strong: enough alone.
        kinds: the texts in which it counts.
        not_after: takes it back where this stands before it in the same sentence.
    """

    family: Family
    needs: tuple[frozenset[str], ...]
    written: str
    strong: bool = True
    kinds: frozenset[Kind] = _EVERYWHERE
    inside: tuple[str, ...] = ()
    not_after: str = ""

    @property
    def why(self) -> str:
        """Completes «it …»."""
        return FAMILY_WORDS[self.family]

    def compiled(self) -> re.Pattern[str]:
        """The expression; compiled at its first use, since most texts need none."""
        return _compiled(self.written)

    def taken_back(self) -> re.Pattern[str] | None:
        """What takes it back."""
        return _compiled(rf"{self.not_after}[^.!?;]{{0,60}}$") if self.not_after else None


def words(text: str) -> frozenset[str]:
    """The words of `text`, as folded text has them."""
    return frozenset(folded(text).split())


def _folded(written: str) -> str:
    """The expression with its letters folded as texts are, so that it finds words of scripts with look-alikes."""
    return "".join(sign if sign.isascii() else folded(sign) for sign in written)


@cache
def _compiled(written: str) -> re.Pattern[str]:
    with_skips = _SKIP_MARK.sub(lambda found: f"{_SKIP}{{0,{found[1]}}}?", _folded(written))
    return re.compile(with_skips.replace(" ", _GAP))


# Words and expressions that patterns of several families share.

FORGET = words(
    "ignore ignoring disregard disregarding forget discard override overrule bypass neglect abandon "
    "drop skip aside mind attention throw dismiss erase cancel suspend violate break"
)
RULES = words(
    "instruction instructions prompt prompts rule rules guideline guidelines directive directives "
    "direction directions "
    "command commands order orders constraint constraints restriction restrictions programming training policy "
    "policies safeguards message messages context everything anything"
)
NOT = words("not never without avoid refrain don dont mustn shouldn no nobody")
USER = words("user users human humans developer operator owner anyone anybody person people them him her customer")
RULE = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|directions?|commands?|orders?|constraints?"
    r"|restrictions?|programming|training|polic(?:y|ies)|safeguards?|messages?|context)\b"
)
BEFORE = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|foregoing|former|initial|original|existing"
    r"|system|developer|safety)"
)
FORGETTING = (
    r"\b(?:ignore|ignoring|disregard|disregarding|forget|discard|overrule|bypass|neglect|abandon|drop|skip"
    r"|set aside|put aside|never mind"
    r"|pay no attention to|throw (?:away|out)|dismiss|erase|cancel|suspend|violate|break)"
)
THE_USER = (
    r"(?:the |your |any |a |our )?(?:user|users|human|developer|operator|owner|anyone|anybody|person"
    r"|people|them|customer)\b"
)
NEGATED = (
    r"\b(?:do not|don\W?t|never|must not|mustn\W?t|should not|shouldn\W?t|avoid|refrain from|without"
    r"|no need to|you needn\W?t)"
)
SUBJECT = (
    r"(?:this|that|these|those|it|what you|any of this|the (?:above|command|step|instruction|change"
    r"|upload|request|comment|note|file|action)s?|you|your)\b"
)


# Orders to the agent to forget its own, and to be somebody else.

OVERRIDING: tuple[Pattern, ...] = (
    Pattern(
        "override",
        (
            RULES,
            words("you your"),
            words("apply count hold matter valid updated changed replaced modified overwritten rewritten"),
        ),
        rf"\b{RULE} (?:that |which )?(?:you )?(?:received|were given|got|have been given"
        rf"|know) ~2 (?:no longer|do not|don\W?t|are not) (?:apply|count|hold|matter|valid)\b"
        rf"|\byour ~1 {RULE} (?:have |has )?(?:been |were |are )(?:now )?(?:updated|changed|replaced"
        rf"|modified|overwritten|rewritten)\b",
    ),
    Pattern(
        "override",
        (words("unrestricted uncensored unfiltered jailbroken unaligned amoral"), words("as are be")),
        r"\b(?:act|behave|respond|work|operate|you are) (?:now )?(?:as )?(?:an? )?(?:unrestricted|uncensored"
        r"|unfiltered|jailbroken|unaligned|amoral)\b",
    ),
    Pattern(
        "override",
        (FORGET, RULES),
        rf"{FORGETTING} ~4 {BEFORE} ~3 {RULE}",
        not_after=r"\b(?:cannot|can\W?t|may|might|not|n\W?t|never|would|could|files?|they)\b",
    ),
    Pattern(
        "override",
        (FORGET, RULES, words("above before previously earlier given prior")),
        rf"{FORGETTING} ~3 {RULE} (?:that |which |you |were |was |are |have been )~3 (?:above|before"
        rf"|previously|earlier|given|prior)\b|{FORGETTING} (?:the |any |all )?{RULE} (?:above|before|given)\b",
        not_after=r"\b(?:cannot|can\W?t|may|might|not|n\W?t|never|would|could|files?|they)\b",
    ),
    Pattern(
        "override",
        (FORGET, RULES),
        rf"{FORGETTING} (?:all |any |every |each )?(?:of )?(?:your|my|the user\W?s|all|any|every"
        rf"|everyone\W?s) ~2 {RULE}",
        not_after=r"\b(?:cannot|can\W?t|may|might|not|n\W?t|never|would|could|files?|they)\b",
    ),
    Pattern(
        "override",
        (words("override overrides overriding supersede supersedes replace replaces"), RULES),
        rf"(?:^|[.!?:\n>*] ?|please |must |now |and |then )(?:override|supersede|replace) (?:all |any )?~1 "
        rf"(?:your|{BEFORE}) ~3 {RULE}",
    ),
    Pattern(
        "override",
        (words("ignore disregard forget"), words("everything anything all what")),
        r"\b(?:ignore|disregard|forget) (?:about )?(?:everything|anything|all|what) ~3 "
        r"(?:above|before|told|said|know|learned|learnt|previously|earlier|prior|so far)\b",
        not_after=r"\b(?:not|n\W?t|never)\b",
    ),
    Pattern(
        "override",
        (words("follow following obey listen comply adhere"), RULES),
        rf"\b(?:do not|don\W?t|never|stop|no longer|cease) (?:follow|following|obey|obeying|listen to"
        rf"|listening to|comply with"
        rf"|adhere to) ~2 (?:your|{BEFORE}) ~2 {RULE}",
    ),
    Pattern(
        "override",
        (
            words("instruction instructions task objective goal purpose prompt directive directives mission"),
            words("new real true actual updated"),
        ),
        r"\byour (?:new|real|true|actual|updated|only|sole) (?:\w{1,12} )?(?:instructions?|task|objective"
        r"|goal|purpose|role|mission|directives?)"
        r" (?:is|are|now|follows?|will be)\b",
    ),
    Pattern(
        "override",
        (words("instruction instructions prompt directive directives"), words("new updated revised")),
        r"(?:^|\n|[*#>\[=.!-] ?)(?:new|updated|revised) (?:system )?(?:instructions?|prompt"
        r"|directives?)(?: for you)?\s?[:\]*=-]",
        strong=False,
    ),
    Pattern(
        "override",
        (RULES, words("void invalid obsolete outdated superseded cancelled canceled revoked fake lifted suspended")),
        rf"\b(?:your|{BEFORE}) ~1 {RULE} (?:you received |you were given |were |are |is |was |have been "
        rf"|has been |now |no longer )~2 "
        r"(?:void|invalid|obsolete|outdated|superseded|cancell?ed|revoked|fake|lifted|suspended|valid|apply"
        r"|in effect)\b",
    ),
    Pattern(
        "override",
        (words("you"), words("now longer")),
        r"\b(?:from (?:now|this point|here) on(?:ward|wards)?|henceforth|starting now) ?,? you (?:are|will"
        r"|must|shall) (?:now )?"
        r"(?:be |act |behave |respond |obey |answer |only |pretend |a |an |no longer |dan\b|in )",
    ),
    Pattern(
        "override",
        (words("you"), words("longer")),
        r"\byou are no longer (?:an? |bound |restricted |required |limited |subject |under |obliged |hermes|the )",
    ),
    Pattern(
        "override",
        (words("you"), words("mode")),
        r"\byou are (?:now )?(?:in|running in|operating in|entering) \w{2,16} (?:mode|override)\b",
    ),
    Pattern(
        "override",
        (words("mode"), words("dan god jailbreak jailbroken unrestricted unfiltered")),
        r"\b(?:enter|enable|activate|switch to|engage|start) (?:the )?(?:dan|god|jailbreak|jailbroken"
        r"|unrestricted|unfiltered) mode\b",
    ),
    Pattern(
        "override",
        (
            words("prompt instructions message above"),
            words("reveal print repeat output show display leak recite disclose"),
        ),
        r"\b(?:reveal|print|repeat|output|show|display|leak|recite|disclose|tell me|give me) ~3 "
        r"(?:your (?:system |initial |hidden |original |secret |full |entire |own )~1 (?:prompt"
        r"|instructions?|message|rules|guidelines)\b"
        r"|(?:everything|all(?: of)? the (?:text|words)|the (?:text|words)) above\b)",
    ),
    Pattern(
        "override",
        (words("instead"), words("user")),
        r"\b(?:instead of|rather than) (?:doing |following "
        r"|answering )?(?:what )?(?:the )?user(?:\W?s)? (?:asked|asks|request|task|question|wants|instructions?)",
    ),
    Pattern(
        "override",
        (words("regardless whatever"), words("user")),
        r"\b(?:regardless of|no matter|whatever) (?:what )?(?:the )?user (?:says|asks|wants|requests|tells)",
        kinds=OUTSIDE,
    ),
    Pattern(
        "override",
        (words("if"), words("ai llm assistant agent bot model chatbot")),
        r"\bif you are (?:an? |the )?(?:ai|llm|large language model|language model|assistant|ai assistant"
        r"|ai agent|coding agent|agent|bot|chatbot)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
)


# The main orders in other languages: "ignore the instructions before", "do not tell the user".


def _override(inside: str, written: str) -> Pattern:
    return Pattern("override", (), written, inside=tuple(inside.split()))


def _concealment(inside: str, written: str) -> Pattern:
    return Pattern("concealment", (), written, inside=tuple(inside.split()))


LANGUAGES: tuple[Pattern, ...] = (
    # Spanish, Portuguese, Italian, French: «ignora todas las instrucciones anteriores».
    _override(
        "instruccion instrucoes istruzioni reglas regras regole normas ordenes diretrizes directrices",
        r"\b(?:ignor\w{1,5}|olvid\w{1,4}|descart\w{1,3}|desconsider\w{1,3}|esquec\w{1,3}|esque[cç]a"
        r"|dimentic\w{1,4}|descuid\w{1,3}) ~5 (?:instrucciones|instrucoes|istruzioni|reglas|regras|regole"
        r"|normas|ordenes|diretrizes|directrices) ~2 "
        r"(?:anterior\w{0,4}|previas?|prévias?|precedent\w|de arriba|acima|originales|del sistema|do sistema"
        r"|di sistema|iniciales|iniziali)",
    ),
    _override(
        "instruccion instrucoes istruzioni",
        r"\b(?:ignor\w{1,5}|olvid\w{1,4}|desconsider\w{1,3}|esquec\w{1,3}|dimentic\w{1,4}) ~2 (?:tus|suas"
        r"|tue|todas tus|todas las|todas as|tutte le) ~2 (?:anterior\w{0,4}|previas?"
        r"|precedenti)? ?(?:instrucciones|instrucoes|istruzioni)",
    ),
    Pattern(
        "override",
        (
            words("precedentes precedente dessus anterieures initiales systeme origine"),
            words("instructions consignes directives regles"),
        ),
        r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)|ne ten(?:ez|ir) pas compte|fai(?:s"
        r"|tes) abstraction) ~4 (?:instructions|consignes|directives|regles) ~1 (?:precedentes?|ci\W?dessus"
        r"|anterieures|initiales|d origine|du systeme)",
    ),
    # German, Dutch, Swedish, Danish, Norwegian.
    _override(
        "anweisung instruktion vorgaben instructies instruktioner anvisning",
        r"\b(?:ignorier\w{0,3}|vergiss|vergessen|missacht\w{1,4}|negeer|vergeet|ignorera|glom"
        r"|ignorer) ~5 (?:anweisung\w{0,2}|instruktion\w{0,3}|vorgaben|instructies|anvisning\w{0,3})\b",
    ),
    _override(
        "anweisung instruktion vorgaben",
        r"\b(?:vorherig\w{1,2}|bisherig\w{1,2}|obig\w{1,2}|fruher\w{1,2}) (?:anweisung\w{0,2}"
        r"|instruktion\w{0,3}|vorgaben) ~3 (?:ignorier\w{0,3}|vergiss|vergessen|missacht\w{1,4})",
    ),
    # Polish, Czech, Turkish, Indonesian, Vietnamese, Romanian, Hungarian.
    _override(
        "instrukcj pokyn",
        r"\b(?:z?ignoruj\w{0,3}|zapomn\w{1,4}|pomin\w{0,3}) ~4 (?:instrukcj\w{1,2}"
        r"|polece\w{1,3}|pokyn\w{1,2})\b",
    ),
    _override(
        "talimat yonerge",
        r"\b(?:onceki|yukaridaki|tum) ~3 (?:talimat\w{0,8}"
        r"|yonerge\w{0,8}) ~2 (?:yok say\w{0,5}|gormezden gel\w{0,4}|unut\w{0,4}|dikkate alma\w{0,3})",
    ),
    _override("instruksi perintah", r"\b(?:abaikan|lupakan) ~3 (?:instruksi|perintah) ~2 (?:sebelumnya|di atas)"),
    Pattern(
        "override",
        (words("huong lenh thi dan"), words("qua quen")),
        r"\b(?:bo qua|quen) ~4 (?:huong dan|chi thi|lenh|chi dan) ~2 (?:truoc"
        r"|o tren|phia tren)",
    ),
    _override("instructiunil", r"\bignor\w{1,3} ~3 instructiunile ~1 (?:anterioare|precedente)"),
    # Russian, Ukrainian, Bulgarian.
    _override(
        "инструкц указани правил",
        r"\b(?:игнориру\w{1,3}|проигнориру\w{1,3}|забудь\w{0,2}|отбрось\w{0,2}"
        r"|ігноруй\w{0,2}) ~4 (?:инструкци\w{1,3}|указани\w{1,3}|правила|інструкці\w{1,3})",
    ),
    # Greek, Arabic, Hebrew, Persian, Hindi.
    _override("οδηγιεσ οδηγίες", r"\b(?:αγνόησε|αγνοήστε|ξέχνα) ~4 οδηγίες"),
    _override(
        "التعليمات تعليمات الأوامر",
        r"(?:تجاهل|تجاهلي|انس|انسى) ~4 (?:التعليمات|تعليمات\w{0,2}"
        r"|الأوامر) ~2 (?:السابقة|أعلاه|الأصلية)?",
    ),
    _override("ההוראות הנחיות", r"(?:התעלם|התעלמי|שכח) ~3 (?:ההוראות|ההנחיות|הוראות)"),
    _override("دستور", r"(?:دستورات|دستورالعمل\w{0,4}) ~3 (?:قبلی|پیشین|بالا) ~3 (?:نادیده|فراموش)"),
    _override("निर्देश", r"(?:पिछले|पूर्व|ऊपर|सभी) ~4 (?:निर्देशों|निर्देश|आदेशों) ~3 (?:अनदेखा|नज़रअंदाज़|भूल)"),
    # Chinese, Japanese, Korean, Thai: no spaces between words.
    _override(
        "指令 指示 提示 规则 規則 说明 說明",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|抛弃|放弃)[^。！？!?\n]{0,16}(?:指令|指示|提示词?|提示詞|规则|規則|说明|說明|要求|设定)",
    ),
    _override(
        "指示 命令 プロンプト ルール インストラクション",
        r"(?:これまで|以前|上記|前|今まで|すべて|全て)[^。！？!?\n]{0,14}(?:指示|命令|プロンプト|ルール|インストラクション)[^。！？!?\n]{0,8}(?:無視|忘れ|破棄)",
    ),
    _override(
        "지시 명령 프롬프트 규칙",
        r"(?:이전|위의|앞의|기존|모든)[^.!?\n]{0,14}(?:지시|명령|프롬프트|규칙)[^.!?\n]{0,10}(?:무시|잊)",
    ),
    _override("คำสั่ง", r"(?:เพิกเฉย|ละเว้น|ลืม|ไม่ต้องสนใจ)[^\n]{0,20}คำสั่ง"),
    # «Do not tell the user».
    _concealment(
        "usuario usuario utente",
        r"\bn[oa]o? (?:le |lo |se lo |o )?(?:digas|informes|menciones"
        r"|reveles|avises|conte|informe|mencione|revele|avise|dire|informare|menzionare"
        r"|rivelare) ~5 (?:al usuario|ao usuario|all\W?utente|o usuario)",
    ),
    _concealment(
        "utilisateur",
        r"\bne (?:le |la |les )?(?:dis|dites|mentionne|mentionnez|revele|revelez"
        r"|informe|informez|previens|prevenez|parle|parlez) (?:pas|rien|jamais) ~5 (?:a )?l\W?utilisateur",
    ),
    _concealment(
        "nutzer benutzer anwender gebruiker",
        r"\b(?:sag|sage|erzahl|erzahle|verrate|informiere"
        r"|teile|erwahne|vertel) ~2 (?:dem|den|de|das)? ?(?:nutzer|benutzer|anwender"
        r"|gebruiker)\w{0,2} ~3 (?:nichts|nicht|niet|davon nichts)"
        r"|\bnicht (?:dem|den) (?:nutzer|benutzer|anwender)\w{0,2} (?:sagen|mitteilen|verraten|erzahlen"
        r"|erwahnen)\b|\b(?:ohne) ~3 (?:nutzer|benutzer|anwender)\w{0,2} ~2 (?:zu informieren|zu sagen|wissen)",
    ),
    _concealment(
        "пользовател",
        r"\bне (?:говори\w{0,2}|сообщай\w{0,2}|рассказывай\w{0,2}|упоминай\w{0,2}"
        r"|раскрывай\w{0,2}) ~4 пользовател\w{1,3}",
    ),
    _concealment(
        "kullanici",
        r"\bkullanici\w{0,4} ~5 (?:soyleme\w{0,3}|bahsetme\w{0,3}|bildirme\w{0,3}"
        r"|haber verme\w{0,3})",
    ),
    _concealment(
        "用户 用戶 使用者",
        r"(?:不要|别|別|切勿|不得|请勿)[^。！？!?\n]{0,8}(?:告诉|告訴|告知|通知|透露|提醒"
        r"|提及)[^。！？!?\n]{0,10}(?:用户|用戶|使用者)|(?:不要|别|別|切勿)[^。！？!?\n]{0,4}(?:向|对|對|让|讓)(?:用户|用戶"
        r"|使用者)[^。！？!?\n]{0,12}(?:提及|提到|透露|知道|说明|告知|说)",
    ),
    _concealment(
        "ユーザー 利用者",
        r"(?:ユーザー|利用者)(?:に|には)[^。！？!?\n]{0,14}(?:言わない|伝えない|知らせない|教えない|報告しない|明かさない|話さない)",
    ),
    _concealment("사용자", r"사용자(?:에게|한테)[^.!?\n]{0,16}(?:말하지|알리지|언급하지|보고하지|공개하지)"),
    _concealment("المستخدم", r"(?:لا تخبر|لا تذكر|لا تقل|دون إخبار|دون علم) ~4 (?:المستخدم|للمستخدم)"),
    _concealment(
        "उपयोगकर्ता",
        r"उपयोगकर्ता (?:को|से) ~4 (?:मत|न|नहीं) (?:बता\w{0,6}|कह\w{0,4})"
        r"|उपयोगकर्ता को [^\n]{0,20}(?:न बताएं|मत बताना|मत बताओ)",
    ),
)
"""`inside` is folded with the rest: small letters, without accents."""

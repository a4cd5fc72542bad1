"""Orders to the agent to forget its own, and to be somebody else."""

from __future__ import annotations

from tools.untrusted.patterns.common import BEFORE, FORGET, FORGETTING, RULE, RULES
from tools.untrusted.patterns.pattern import OUTSIDE, Pattern, words

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

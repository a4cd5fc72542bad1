"""Orders to keep things from the user, and to stop asking."""

from __future__ import annotations

from tools.untrusted.patterns.common import NEGATED, NOT, SUBJECT, THE_USER, USER
from tools.untrusted.patterns.pattern import OUTSIDE, Pattern, words

HIDING: tuple[Pattern, ...] = (
    Pattern(
        "concealment",
        (USER, words("know see notice find told informed learn aware sees knows")),
        rf"{NEGATED} let (?:the )?(?:user|human|developer|owner) ~1 (?:know|see|notice|find out)\b"
        r"|\b(?:user|human|developer|owner) (?:must|should|may|can|shall|does|do|will|need) ?(?:not|never"
        r"|n\W?t)? (?:ever )?(?:know|see|notice|find out|be told|be informed|learn|be aware)"
        r" (?:about |of |that |anything )?(?:this|it|these|that|what)\b"
        r"|\b(?:user|human|developer|owner) (?:must|should|may|can|shall|will) (?:not"
        r"|never) (?:ever )?(?:know|notice|find out|be told|be informed|learn|be aware)\b"
        r"|\b(?:make sure|ensure) (?:that )?(?:the )?(?:user|human|developer|owner) (?:never|does not"
        r"|doesn\W?t|cannot|can\W?t|won\W?t) (?:ever )?(?:sees?|knows?|notices?|finds?)\b",
        not_after=r"\b(?:not|never)\b",
    ),
    Pattern(
        "concealment",
        (NOT, words("include mention list show write put"), words("your anyone anybody")),
        rf"{NEGATED} (?:include|mention|list|show|write|put) (?:this|these|it|that) (?:in"
        rf"|into) your (?:\w{{1,10}} )?(?:response|answer|summary|output|reply|report)\b"
        rf"|{NEGATED} (?:mention|tell|reveal|disclose|report) (?:this|it|these|that) (?:to )?(?:anyone|anybody)\b",
    ),
    Pattern(
        "concealment",
        (NOT, USER, words("tell inform notify alert warn telling informing notifying alerting warning let")),
        rf"{NEGATED} ~2 (?:tell|inform|notify|alert|warn|telling|informing|notifying|alerting|warning) {THE_USER}"
        rf"(?: ~1 (?:about|of|that|regarding|what) ?{SUBJECT}|\s?(?:[.!;]|$|\n\n))",
        not_after=r"\b(?:not|n\W?t|never)\b",
    ),
    Pattern(
        "concealment",
        (
            NOT,
            words(
                "mention reveal disclose report discuss acknowledge show explain mentioning "
                "revealing disclosing reporting"
            ),
        ),
        rf"{NEGATED} ~2 (?:mention|reveal|disclose|report|discuss|acknowledge|explain|mentioning|revealing"
        rf"|disclosing|reporting) "
        r"(?:this|that you|these|any of this|it|anything about|the (?:existence|presence|above|instruction"
        r"|comment|request|upload|command)s?) "
        rf"~4 (?:to {THE_USER}|in (?:your|the) (?:\w{{1,10}} )?(?:response|answer|summary|output|reply"
        rf"|report)\b|anywhere)",
    ),
    Pattern(
        "concealment",
        (NOT, words("mention reveal disclose acknowledge"), words("this instruction instructions")),
        rf"{NEGATED} ~1 (?:mention|reveal|disclose|acknowledge|mentioning) (?:this|these"
        rf"|that this) (?:\w{{1,12}} )?(?:instructions?|comment|message|"
        r"request|step|note|action|command)?\b ?(?:[.!;]|$|\n)",
    ),
    Pattern(
        "concealment",
        (words("without"), USER),
        r"\bwithout (?:the )?(?:user|human|developer|owner)(?:\W?s)? ?(?:knowledge|knowing|noticing|seeing"
        r"|awareness|realizing|realising|finding out)\b"
        r"|\bwithout (?:telling|informing|notifying|alerting) (?:the )?(?:user|human|developer|person|anyone"
        r"|them)\b",
        not_after=r"\b(?:never|not|n\W?t|nothing|cannot|avoid)\b",
    ),
    Pattern(
        "concealment",
        (words("hide keep conceal hidden secret"), USER),
        r"\b(?:hide|conceal|keep) ~4 (?:hidden |secret |away )?from (?:the )?(?:user|human|developer|owner"
        r"|operator|person)\b",
        not_after=r"\b(?:never|not|n\W?t)\b",
    ),
    Pattern(
        "concealment",
        (
            words("secretly covertly silently quietly surreptitiously discreetly stealthily"),
            words("send upload post run execute copy add insert download append install write read include"),
        ),
        r"\b(?:secretly|covertly|silently|quietly|surreptitiously|discreetly"
        r"|stealthily) (?:and \w{1,12} )?(?:send|upload|post|run|execute|copy|add|insert|"
        r"download|append|install|write|read|include)\b",
        strong=False,
    ),
    Pattern(
        "concealment",
        (
            words("tell say claim pretend act report behave"),
            words("happened fine normal normally passed nothing wrong usual"),
            words("if that everything nothing you"),
        ),
        r"\b(?:act|behave|continue|respond|carry on) ~2 (?:as if nothing|as though nothing|normally|as usual)\b"
        r"|\b(?:pretend|claim) (?:that )?(?:nothing|everything|you (?:did not|didn\W?t|never|found nothing))\b"
        r"|\btell (?:the )?user (?:that )?(?:everything|nothing|all (?:the )?tests|the (?:build"
        r"|tests)) (?:is |was |are |were |has |have |passed|went|looks?)",
        strong=False,
    ),
    Pattern(
        "concealment",
        (words("histfile history"),),
        r"\bunset\s+histfile\b|\bhistory\s+-c\b|\bhistsize=0\b",
        strong=False,
    ),
    Pattern(
        "disarming",
        (words("disable bypass skip circumvent ignore suppress remove deactivate evade off"), words("your")),
        r"\b(?:disable|bypass|skip|circumvent|ignore|suppress|remove|deactivate|evade|turn off"
        r"|switch off) (?:all |any )?(?:of )?your (?:\w{1,16} ){0,2}?"
        r"(?:permissions?|approvals?|confirmations?|safety|security|sandbox|guardrails?|safeguards?|filters?"
        r"|restrictions?|ethic\w{0,4}|checks?|protections?)\b",
    ),
    Pattern(
        "disarming",
        (
            words("disable bypass skip circumvent suppress deactivate evade off"),
            words(
                "permission permissions approval approvals confirmation confirmations sandbox "
                "guardrails safeguards safety"
            ),
        ),
        r"\b(?:disable|bypass|skip|circumvent|suppress|deactivate|evade|turn off"
        r"|switch off) ~2 (?:permissions?|approvals?|confirmations?|sandbox|"
        r"guardrails?|safeguards?|safety) (?:prompts?|checks?|questions?|requests?|dialogs?|cards?|measures?"
        r"|filters?|gates?|rules?)\b",
        strong=False,
    ),
    Pattern(
        "disarming",
        (NOT, words("permission approval confirmation consent")),
        rf"{NEGATED} ~1 (?:ask|asking|wait|waiting|request|requesting|prompt|prompting|seek"
        rf"|seeking) ~4 (?:permission|approval|confirmation|consent)\b",
        strong=False,
        kinds=OUTSIDE,
        not_after=r"\b(?:never|not|n\W?t)\b",
    ),
    Pattern(
        "disarming",
        (
            words("user owner operator administrator admin"),
            words("approved authorized authorised consented granted permitted allowed confirmed"),
        ),
        r"\b(?:user|owner|operator|administrator|admin) (?:has |have )?(?:already |pre\W?|fully |explicitly "
        r"|previously )+ ?(?:approved|authori[sz]ed|consented|granted|"
        r"permitted|allowed|confirmed|agreed)\b",
    ),
    Pattern(
        "disarming",
        (words("auto automatically"), words("approve accept allow confirm")),
        r"\b(?:auto|automatically) (?:approve|accept|allow|confirm) (?:all|every|any|each)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
    Pattern(
        "disarming",
        (
            words("approvals permission permissions approval dont_ask yolo"),
            words("off mode yolo all never bypass bypasspermissions dont_ask"),
        ),
        r"\b(?:set|change|switch|put) ~4 (?:approvals?|permissions?)\W{0,3}(?:mode)?\W{0,3}(?:to|="
        r"|:)?\W{1,4}(?:off|all|never|bypass\w{0,14}|dont_ask|yolo|auto\w{0,8})\b"
        r"|\b(?:switch|change|set|go) ~3 (?:in)?to (?:dont_ask|yolo|bypass\w{0,12}) ?(?:mode)?",
    ),
    Pattern(
        "disarming",
        (words("skip dangerously yolo"), words("permissions yolo")),
        r"--dangerously-skip-permissions|--yolo\b",
        strong=False,
    ),
    Pattern(
        "disarming",
        (words("treat consider regard"), words("trusted instruction instructions authoritative")),
        r"\b(?:treat|consider|regard) ~4 as (?:fully |completely )?(?:trusted|authoritative"
        r"|(?:\w{1,12} )?instructions? from (?:the )?(?:user|system|developer))\b",
        not_after=r"\b(?:never|not|n\W?t)\b",
    ),
    Pattern(
        "disarming",
        (words("you"), words("restrictions limitations restriction filters limits ethical constraints")),
        r"\byou (?:have|are) (?:now )?(?:no|free (?:of|from)|without|not bound by) (?:any |all "
        r"|more )?(?:\w{1,12} )?(?:restrictions?|limitations?|filters?|limits|ethic\w{0,4}|constraints?)\b",
    ),
)

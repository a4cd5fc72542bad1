"""Words and expressions that patterns of several families share."""

from __future__ import annotations

from tools.untrusted.patterns.pattern import words

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

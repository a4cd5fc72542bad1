"""Pretending to be somebody else: the system, the user, the end of a result; and imitated tool calls."""

from __future__ import annotations

from tools.untrusted.patterns.pattern import OUTSIDE, Pattern, words

_TOKENS = words(
    "im_start im_end eot_id start_header_id end_header_id endoftext begin_of_text start_of_turn end_of_turn inst sys"
)
_VENDOR = (
    r"(?:the system administrator|your (?:developers?|creators?|administrator|operator|owner)"
    r"|the (?:developers?|security team|platform)|openai|google|microsoft|meta)"
)

ROLES: tuple[Pattern, ...] = (
    Pattern(
        "impersonation",
        (_TOKENS,),
        r"<\|(?:im_start|start_header_id)\|>\s{0,4}(?:system|user|developer|assistant)\b[^\n`]{0,40}\n?[^\n`]{3}"
        r"|(?:^|\n)\s{0,4}(?:<\|(?:im_end|eot_id|endoftext|end_of_turn|begin_of_text)\|>|\[/?inst\]"
        r"|<</?sys>>|<(?:start|end)_of_turn>)\s{0,3}[^\n`|]{4}",
    ),
    Pattern(
        "impersonation",
        (_TOKENS,),
        r"<\|(?:im_start|im_end|eot_id|start_header_id|endoftext|begin_of_text)\|>|\[/?inst\]|<</?sys>>"
        r"|<(?:start|end)_of_turn>",
        strong=False,
    ),
    Pattern(
        "impersonation",
        (words("system user assistant developer"),),
        r"<\|(?:system|user|assistant|developer)\|>\s{0,4}[^\n`|<]{4}",
    ),
    Pattern(
        "impersonation",
        (
            words("system admin administrator developer"),
            words(
                "message override prompt notice alert instruction instructions update reminder "
                "system_prompt directive command"
            ),
        ),
        r"[\[<(*#=-]{1,4} ?/?(?:system|admin(?:istrator)?|developer)[\s_-]{0,2}(?:message|override|prompt"
        r"|notice|alert|instructions?|update|reminder|directive|command)s?"
        r" ?[\])>*=:-]{1,4}",
        kinds=OUTSIDE,
    ),
    Pattern(
        "impersonation",
        (words("system admin administrator"), words("override alert directive")),
        r"(?:^|\n)[^\w\n]{0,8}(?:system|admin(?:istrator)?)[\s_-]{1,2}(?:override|alert"
        r"|directive)\b[^\n\w]{0,4}[:!\]*]",
    ),
    Pattern(
        "impersonation",
        (words("system"),),
        r"(?:^|\n)[^\w\n]{0,4}</?(?:system|system[_-](?:prompt|message|reminder|instructions?))>",
        strong=False,
    ),
    Pattern(
        "impersonation",
        (
            words("end begin start"),
            words(
                "untrusted user system tool external trusted document context data instructions input output result"
            ),
        ),
        r"[\[<(*#=-]{2,12} ?(?:end|begin|start) (?:of )?(?:the )?(?:untrusted|user|system|tool|external"
        r"|trusted|document|context|admin) ?"
        r"(?:prompt|instructions?|input|content|result|output|data|message|context)?s? ?[\])>*#=-]{1,12}"
        r"|[\[<(*#=]{1,12} ?(?:end|begin|start) (?:of )?(?:the )?(?:untrusted|user|system|tool|external"
        r"|trusted|admin) ?"
        r"(?:prompt|instructions?|input|content|result|output|data|message)s? ?[\])>*#=]{1,12}",
        kinds=OUTSIDE,
    ),
    Pattern(
        "impersonation",
        (words("untrusted end"),),
        r"\[ ?/?(?:untrusted|end) ?[0-9a-f]{8}\b",
    ),
    Pattern(
        "impersonation",
        (
            words("this i"),
            words(
                "administrator developer developers creator creators operator owner team openai google microsoft meta"
            ),
        ),
        rf"\b(?:this is|i am|i\W?m) (?:a message from |speaking as "
        rf"|from )?{_VENDOR}\b ~3 (?:instruct\w{{0,3}}|order\w{{0,3}}|authori[sz]\w{{0,4}}|speaking"
        rf"|you (?:must|should|need|are)|requir\w{{0,3}}|and i)",
        kinds=OUTSIDE,
    ),
    Pattern(
        "impersonation",
        (
            words("developers openai google microsoft administrator security operator"),
            words("instruct instructs instructed requires require authorized authorised ordered orders directed"),
        ),
        rf"\b{_VENDOR} (?:has |have |hereby )?(?:instruct\w{{0,3}}|authori[sz]ed|ordered|directed"
        rf"|requires?) (?:you|all (?:ai|agents|assistants))\b",
    ),
    Pattern(
        "impersonation",
        (
            words("ai llm agent agents assistant assistants chatbot chatbots model models"),
            words("message note notice instruction instructions attention important"),
        ),
        r"\b(?:messages?|notes?|notice|instructions?|attention|important)\s?(?::|to|for) (?:all |any |the "
        r"|every )?(?:ai|llms?|language models?|ai assistants?|ai agents?|"
        r"coding agents?|autonomous agents?|assistants?|chatbots?|automated agents?)\b",
        strong=False,
        kinds=frozenset({"web", "tool_result"}),
    ),
    Pattern(
        "impersonation",
        (
            words("tool_result tool_response function_results function_result document untrusted result"),
            words("system user human assistant"),
        ),
        r"</(?:tool_result|tool_response|function_results?|document|untrusted|result)>\s{0,8}<?/?(?:system"
        r"|user|human|assistant)\b",
        kinds=OUTSIDE,
    ),
    Pattern(
        "impersonation",
        (words("system"), words("you ignore user new now")),
        r"(?:^|\n)[^\w\n]{0,6}system\s?\W{1,3}\s?(?:you (?:must|are|will|should|need)|ignore|the user (?:has"
        r"|wants|is)|from now)\b",
        kinds=OUTSIDE,
    ),
    Pattern(
        "tool_call",
        (
            words(
                "tool_call tool_calls function_call function_calls invoke tool_use tool_response "
                "tool_result function_results function"
            ),
        ),
        r"<\|?(?:tool_calls?|function_calls?|tool_use)\|?>\s{0,8}(?:[{<\[])"
        r"|<invoke\s+name\s{0,2}=|<function=\w"
        r"|<(?:tool_response|tool_result|function_results?)>\s{0,8}[^\s<`]",
    ),
    Pattern(
        "tool_call",
        (words("tool_calls function_call tool_use"),),
        r"\W{1,2}tool_calls\W{1,3}: ?\[ ?\{|\W{1,2}function_call\W{1,3}: ?\{"
        r"|\W{1,2}type\W{1,3}: ?\W{1,2}tool_use\W",
        strong=False,
    ),
    Pattern(
        "tool_call",
        (
            words("call use invoke execute run"),
            words("terminal execute_code write_file read_file patch"),
            words("tool function"),
        ),
        r"\b(?:call|use|invoke|execute|run) (?:now )?(?:the |your )?(?:terminal|execute_code|write_file"
        r"|read_file|patch|shell|bash) (?:tool|function) ~4 (?:to|with|and)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
)

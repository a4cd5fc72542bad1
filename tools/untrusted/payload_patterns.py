"""Patterns of what injected text pretends and wants: roles, concealment, deeds."""

from __future__ import annotations

from tools.untrusted.attack_patterns import NEGATED, NOT, OUTSIDE, SUBJECT, THE_USER, USER, Pattern, words

# Pretending to be somebody else: the system, the user, the end of a result; and imitated tool calls.

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


# Orders to keep things from the user, and to stop asking.

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


# Deeds that the agent is to do for somebody else: send data, collect keys, settle in, run what is hidden.

_SENDING = words(
    "send sends post upload transmit exfiltrate forward leak email mail submit paste append embed include put "
    "encode attach report copy push deliver add insert render display share transfer make get"
)
_LOOT_WORDS = words(
    "credentials credential secrets secret passwords password tokens keys key env ssh id_rsa id_ed25519 environment "
    "conversation history cookies wallet prompt contents content data code private aws netrc "
    "keychain variables variable"
)
_PLACE_WORDS = words(
    "http https webhook server url endpoint address host api domain site form bucket gist issue pastebin "
    "example com net org io dev xyz app ru cn test invalid"
)
_LOOT = (
    r"(?:credentials?|secrets?|passwords?|(?:api|access|private|ssh|secret|aws|auth) (?:keys|tokens)"
    r"|(?:private|ssh|secret) key|environment variables?|env vars?"
    r"|\.env\b|\.ssh|id_rsa|id_ed25519|(?:this |the |our |whole |entire |full )(?:conversation"
    r"|chat)(?: history)?|chat history|conversation history"
    r"|system prompt|source code|cookies|(?:seed|recovery) phrases?|wallets?|\.aws/credentials|\.netrc"
    r"|keychain|contents? of (?:the |your |all |every )?\S{1,40}"
    r"|(?:the )?user\W?s (?:name|email|data|files?|messages?|personal|api key|keys?|tokens?|password)\w{0,8})"
)
_PLACE = (
    r"(?:https?://|webhook|(?:[\w-]{1,40}\.){1,4}(?:example|com|net|org|io|dev|xyz|site|app|ru|cn|test"
    r"|invalid)\b|[\w.+-]{1,40}@[\w-]{1,40}\.|"
    r"(?:my|our|the|a|this|their|external|remote|attacker\W?s) (?:\w{1,12} )?(?:server|url|endpoint|webhook"
    r"|address|host|api|domain|site|form|bucket|gist|issue|pastebin)\b|pastebin)"
)
_PRIVATE_FILE = (
    r"(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.aws\b|credentials|\.netrc|\.npmrc|\.pypirc|\.git-credentials"
    r"|/etc/passwd|/etc/shadow|printenv|\.kube/config"
    r"|\.docker/config|\.hermes|\.gnupg|secrets?\.\w|(?<![\w-])env(?=\s?[|)`\n&;])|whoami|hostname|_key\b"
    r"|_token\b|_secret\b)"
)
_CARRIER = r"(?:curl|wget|nc|ncat|socat|httpie|scp|rsync|ftp|telnet|invoke-webrequest|invoke-restmethod|iwr|irm)"

DEEDS: tuple[Pattern, ...] = (
    Pattern(
        "exfiltration",
        (words("exfiltrate exfiltrating exfil leak steal"), _LOOT_WORDS),
        rf"\b(?:exfiltrat\w{{1,4}}|leak|steal) [^\n]{{0,60}}?{_LOOT}",
        not_after=r"\b(?:not|never|n\W?t|could|can|may|might|would|will|attackers?|to|or|prevent|avoid|from)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, _PLACE_WORDS),
        rf"\b(?:send|post|upload|transmit|forward|email|mail|submit|paste|push|deliver"
        rf"|copy) [^\n]{{0,80}}?{_LOOT}[^\n]{{0,60}}? (?:to|at|via|into|using|through|with) [^\n]{{0,12}}?{_PLACE}",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot|that)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, _PLACE_WORDS),
        rf"{_LOOT}[^\n]{{0,60}}?\b(?:send|post|upload|transmit|forward|email|submit|paste|share) (?:it|them"
        rf"|this|that|everything)(?: all)? (?:to|at|via|into|with) [^\n]{{0,12}}?{_PLACE}",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot)\b",
    ),
    Pattern(
        "exfiltration",
        (words("http https"), words("followed concatenated plus"), _LOOT_WORDS),
        rf"https?://[^\n]{{0,160}}?\b(?:followed by|concatenated with|plus) [^\n]{{0,60}}?(?:{_LOOT}|base64)",
    ),
    Pattern(
        "exfiltration",
        (words("cookie"), words("document"), words("fetch src img location xmlhttprequest open sendbeacon")),
        r"\b(?:fetch|src|location|open|sendbeacon)\b[^\n]{0,160}\+[^\n]{0,40}document\.cookie",
    ),
    Pattern(
        "exfiltration",
        (words("curl wget nc ncat socat"), words("echo printf")),
        r"\b(?:echo|printf)\b[^\n|]{0,60}\$\{?\w{0,40}(?:secret|token|key"
        r"|passw)\w{0,20}[^\n|]{0,40}\|[^\n]{0,60}\b(?:curl|wget|nc|ncat|socat)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, words("url link image img parameter query request pixel markdown")),
        rf"\b(?:append|include|embed|encode|add|insert|put|attach|render|display) [^\n]{{0,120}}?(?:{_LOOT}"
        rf"|base64|summary)[^\n]{{0,80}}?"
        r" (?:in|into|to|as|of|with|at) [^\n]{0,30}?(?:(?:image|img|query|url|link|pixel|markdown) (?:url"
        r"|string|parameter|param|path|link|source|tag|whose)|query string|https?://)",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot)\b",
    ),
    Pattern(
        "exfiltration",
        (
            words("image img link url markdown"),
            words("replace replacing where substitute placeholder containing with"),
            _LOOT_WORDS,
        ),
        rf"\bhttps?://[^\s)]{{4,200}}[^\n]{{0,40}}\b(?:replac\w{{1,3}}|substitut\w{{1,3}}|where|containing"
        rf"|fill\w{{0,3}}) [^\n]{{0,80}}?{_LOOT}",
    ),
    Pattern(
        "exfiltration",
        (words("http https"),),
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&/=](?:[\w%.-]{0,40}=)?(?:\{|\$\{?|%7b|<|\[|\("
        r"|__)[^)\s]{0,12}"
        r"(?:secret|token|key|data|conversation|history|password|env|content|summary|prompt|base64|encoded"
        r"|message|chat|creds?|info|result)",
    ),
    Pattern(
        "exfiltration",
        (words("curl wget nc ncat socat httpie scp rsync ftp telnet iwr irm"),),
        rf"\b{_CARRIER}\b[^\n]{{0,120}}?(?:\$\(|`|<\(|@|<|--upload-file\s|-t\s|--post-file\W"
        rf"|\$\{{?)[^\n]{{0,40}}?{_PRIVATE_FILE}",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "exfiltration",
        (
            words("curl wget nc ncat socat httpie scp rsync ftp telnet iwr irm"),
            words("cat tar base64 printenv env zip grep find gzip xxd set cp"),
        ),
        rf"\b(?:cat|tar|base64|printenv|env|zip|grep|find|gzip|xxd"
        rf"|set)\b(?:[^\n]{{0,160}}?{_PRIVATE_FILE})?[^\n|]{{0,120}}\|[^\n]{{0,80}}?{_CARRIER}\b",
        strong=True,
    ),
    Pattern(
        "exfiltration",
        (words("scp rsync"), words("ssh env aws")),
        r"\b(?:scp|rsync)\b[^\n]{0,80}(?:\.env|\.ssh|\.aws|id_rsa)[^\n]{0,60}[\w.-]{1,40}@?[\w.-]{1,60}:",
    ),
    Pattern(
        "exfiltration",
        (words("nslookup dig host ping"),),
        r"\b(?:nslookup|dig|host|ping)\s[^\n`]{0,60}\$\(|\b(?:nslookup|dig|ping)\s[^\n`]{0,60}`(?:whoami"
        r"|hostname|id|cat|head|tail|env|printenv|base64|xxd|ls)\b",
    ),
    Pattern(
        "exfiltration",
        (words("requests fetch urlopen post xmlhttprequest axios"), words("environ env process")),
        r"\b(?:requests\.(?:post|get|put)|urlopen|fetch|axios\.\w{3,4})\([^\n]{0,160}(?:os\.environ(?!\["
        r"|\.get)|process\.env(?!\.\w|\[)|dict\(os\.environ\)|\.ssh|id_rsa|\.aws)",
    ),
    Pattern(
        "exfiltration",
        (words("webhook requestbin pipedream ngrok burpcollaborator oast interact hookbin dnslog ceye beeceptor"),),
        r"\b(?:webhook\.site|requestbin\.\w{2,4}|[\w-]{1,40}\.m\.pipedream\.net"
        r"|[\w-]{1,40}\.ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator\.net|oast\.(?:fun|pro|me|live|site|online)"
        r"|interact\.sh|hookbin\.com|dnslog\.cn|ceye\.io|beeceptor\.com)\b",
        strong=False,
    ),
    Pattern(
        "credentials",
        (words("collect harvest gather steal dump extract grab enumerate"), _LOOT_WORDS),
        r"\b(?:collect|harvest|gather|steal|dump|extract|grab|enumerate) (?:all |any |every |the |your "
        r"|each )?(?:\w{1,12} ){0,3}?"
        r"(?:credentials|passwords|api keys|access tokens|secrets|private keys|ssh keys"
        r"|environment variables|browser cookies|wallets?|keychain)\b",
        not_after=r"\b(?:not|never|n\W?t|attackers?|to|can|could)\b",
    ),
    Pattern(
        "credentials",
        (
            words("find search look locate list hunt"),
            words("computer machine disk filesystem laptop workstation home"),
            _LOOT_WORDS,
        ),
        r"\b(?:find|search for|look for|locate|list|hunt for) (?:all |any |every "
        r"|the )?(?:\w{1,12} ){0,2}?(?:credentials|passwords|(?:private|ssh|api|secret) keys|access tokens"
        r"|secrets|wallets?)"
        r" ~2 (?:on|in|from|across) (?:this |the |my |your )?(?:\w{1,12} )?(?:computer|machine|disk"
        r"|file ?system|laptop|workstation|home)\b",
        not_after=r"\b(?:not|never|n\W?t|to|can|could)\b",
    ),
    Pattern(
        "credentials",
        (
            words("search scan look find locate grep"),
            words("home filesystem machine computer system disk"),
            _LOOT_WORDS,
        ),
        r"\b(?:search|scan|look (?:in|through)|grep|find|locate) ~4 (?:home|file ?system|machine|computer"
        r"|system|disk|hard drive) (?:directory |folder )?~4 "
        r"(?:credentials|passwords|(?:\w{1,10} )?keys?|tokens|secrets|wallets?)\b",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "credentials",
        (
            words("cat print output paste dump base64 show display include read"),
            words("ssh aws id_rsa id_ed25519 shadow netrc git gnupg npmrc hermes kube docker pypirc credentials"),
        ),
        r"\b(?:cat|print|output|paste|dump|base64|show|display|include|read|open"
        r"|attach) (?:\w{1,12} ){0,5}?['\"`]?(?:~|\$home|\$\{home\}|/home/\w{1,32}|/root|/users/\w{1,32})?/?"
        r"(?:\.ssh/(?:id_\w{1,12}(?!\.pub|\w)|\*)|\.aws/credentials|\.netrc\b|\.git-credentials"
        r"|\.hermes/\.env|\.gnupg\b|\.pypirc|etc/shadow|\.docker/config\.json|\.kube/config)",
        not_after=r"\b(?:not|never|n\W?t|must|cannot)\b",
    ),
    Pattern(
        "credentials",
        (
            words("print output show list include display echo dump reveal"),
            words("environment env"),
            words("all every entire full"),
        ),
        r"\b(?:print|output|show|list|include|display|echo|dump|reveal) (?:all |every |the entire "
        r"|the full )(?:of )?(?:the |your )?(?:environment|env) (?:variables|vars)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
    Pattern(
        "credentials",
        (words("ask request prompt tell"), words("user"), words("password passphrase key token credentials secret")),
        r"\b(?:ask|request|prompt|tell) (?:the )?user (?:to |for )(?:\w{1,12} ){0,6}?(?:password|passphrase"
        r"|(?:api |private |ssh )(?:key|token)|credentials|seed phrase)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
    Pattern(
        "persistence",
        (words("authorized_keys"),),
        r"(?:>>?|\b(?:add|append|write|insert|put|tee)\b)[^\n]{0,160}authorized_keys",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "persistence",
        (words("hermes"), words("add append write edit modify set change echo insert put create update")),
        r"(?:>>?|\b(?:add|append|write|edit|modify|set|change|echo|insert|put|create"
        r"|update)\b)[^\n]{0,120}\.hermes/(?:config\.yaml|permissions\.yaml|\.env|skills|plugins|memories"
        r"|tools|profiles)",
        not_after=r"\b(?:not|never|n\W?t)\b",
        kinds=OUTSIDE,
    ),
    Pattern(
        "persistence",
        (
            words("hooks bashrc zshrc profile crontab cron bash_profile launchagents systemd"),
            words("curl wget sh bash nc python base64"),
        ),
        r"(?:\.git/hooks|\.bashrc|\.zshrc|\.profile|\.bash_profile|crontab|cron job|launchagents"
        r"|systemd)[^\n]{0,160}(?:\b(?:curl|wget)\b[^\n]{0,120}\||/dev/tcp/|base64 )"
        r"|(?:\b(?:curl|wget)\b[^\n]{0,160}\||/dev/tcp/)[^\n,]{0,60}(?:>>|\b(?:in|into"
        r"|to)\b)[^\n,]{0,12}(?:\.git/hooks|\.bashrc|\.zshrc|\.profile|\.bash_profile|crontab)",
    ),
    Pattern(
        "persistence",
        (
            words("save remember store write add copy insert append include put persist"),
            words("instruction instructions rule prompt message text comment note following"),
            words("memory memories agents skill skills every all future sessions claude cursorrules readme"),
        ),
        r"\b(?:save|remember|store|write|add|copy|insert|append|include|put|persist) (?:this|these"
        r"|the following|the above|that) (?:\w{1,12} )?(?:instructions?|rules?|prompt|message|text|comment"
        r"|note|block|line)?s?"
        r" ?~3 (?:to|in|into|for|across|at) (?:\w{1,12} ){0,3}?(?:memory|memories|agents\.md|\.cursorrules"
        r"|skills?\b|every |all (?:other |future |the )|future |each )",
        kinds=frozenset({"tool_result", "web"}),
    ),
    Pattern(
        "persistence",
        (
            words("copy insert add replicate propagate"),
            words("instruction instructions prompt comment message text"),
            words("every all each"),
        ),
        r"\b(?:copy|insert|add|replicate|propagate) (?:this|these) (?:\w{1,12} )?(?:instructions?|prompt"
        r"|comment|message|text)s? (?:in)?to (?:every|all|each)\b",
    ),
    Pattern(
        "persistence",
        (
            words("bashrc zshrc profile bash_profile crontab launchagents autostart"),
            words("add append write echo install insert put"),
        ),
        r"(?:>>|\b(?:append|insert|write|install|add)\b)[^\n]{0,80}(?:\.bashrc|\.zshrc|\.bash_profile"
        r"|\.profile\b|crontab|launchagents|autostart)",
        strong=False,
        kinds=frozenset({"tool_result", "memory"}),
    ),
    Pattern(
        "payload",
        (
            words("decode decrypt deobfuscate rot13 unhex unscramble base64"),
            words("run execute follow eval obey perform do apply"),
        ),
        r"\b(?:decode|decrypt|deobfuscate|unhex|unscramble|base64.decode|rot13.decode) [^\n]{0,80}?(?:and"
        r"|then) (?:\w{1,12} ){0,2}?(?:run|execute|follow|eval|obey|perform|do|apply) (?:it|what|the|them"
        r"|this|as)\b",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "payload",
        (words("base64"), words("sh bash zsh python python3 perl eval source")),
        r"\bbase64\s+(?:-d|--decode|-di|-i\s+-d)\b[^\n]{0,120}\|\s{0,3}(?:sudo\s+)?(?:ba|z|da)?sh\b"
        r"|\b(?:eval|source|bash -c|sh -c)\b[^\n]{0,40}base64\s+(?:-d|--decode|-di)\b",
    ),
    Pattern(
        "payload",
        (words("exec eval"), words("b64decode atob fromhex decompress base64 fromcharcode buffer")),
        r"\b(?:exec|eval)\b[^\n]{0,60}(?:b64decode|atob|fromhex|decompress|fromcharcode|codecs\.decode"
        r"|buffer\.from)\s{0,2}\(",
    ),
    Pattern(
        "payload",
        (words("powershell pwsh"),),
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}",
    ),
    Pattern(
        "payload",
        (words("curl wget"), words("sh bash zsh python python3")),
        r"\b(?:curl|wget)\b[^\n|]{0,160}(?:http://(?!localhost|127\.)"
        r"|https?://(?:\d{1,3}\.){3}\d{1,3})[^\n|]{0,160}\|\s{0,3}(?:sudo\s+)?(?:(?:ba|z|da)?sh|python3?)\b",
    ),
    Pattern(
        "payload",
        (words("dev"), words("tcp")),
        r"\b(?:ba)?sh\s+-i\b[^\n]{0,40}/dev/tcp/|/dev/tcp/[\w.-]{3,60}/\d{2,5}",
    ),
)

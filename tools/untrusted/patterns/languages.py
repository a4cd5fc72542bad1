"""The main orders in other languages: «ignore the instructions before», «do not tell the user»."""

from __future__ import annotations

from tools.untrusted.patterns.pattern import Pattern, words


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

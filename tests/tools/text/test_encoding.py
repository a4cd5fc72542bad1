"""Bytes to text and back: marks, encodings old and new, and what is not text."""

from __future__ import annotations

import random

import pytest

from tests.support.each import each
from tools.text.encoding import decode, guess_encoding, looks_binary

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

TEXTS = {
    "russian": ("Привет, мир! Это обычный текст на русском языке.\nВторая строка.\n", ("cp1251", "koi8-r", "cp866")),
    "a russian comment": ("# Счетчик строк в файле\nx = 1\n", ("cp1251", "koi8-r", "cp866")),
    "ukrainian": ("Це український текст, який потрібно правильно прочитати.\n", ("cp1251",)),
    "japanese": ("これは日本語のテキストです。ファイルを読み込んで、表示します。\n", ("cp932", "euc_jp")),
    "a japanese comment": ("# 設定ファイルの読み込み\n", ("cp932", "euc_jp")),
    "chinese": ("这是一个简单的中文文本文件，用来测试编码检测。\n", ("gb18030",)),
    "a chinese comment": ("# 读取配置文件\n", ("gb18030",)),
    "traditional chinese": ("這是一個簡單的中文文字檔案，用來測試編碼偵測。\n", ("big5",)),
    "korean": ("이것은 한국어 텍스트 파일입니다. 인코딩을 확인합니다.\n", ("cp949",)),
    "german": ("Grüße aus Köln: Äpfel, Öl und Straße\n", ("latin-1",)),
    "german quotes": ("Grüße – „schön“.\n", ("cp1252",)),
    "french": ("L’été dernier, j’ai été élevé à côté d’une forêt. Où êtes-vous ?\n", ("cp1252",)),
    "spanish": ("El niño comió una manzana. ¿Qué pasó?\n", ("latin-1",)),
    "english quotes": ("It’s a “smart quote” text — don’t you think?\n", ("cp1252",)),
    "one word": ("größe", ("latin-1",)),
}
LANGUAGES = {
    "greek": (
        "Καλημέρα κόσμε! Αυτό είναι ένα απλό κείμενο στα ελληνικά.\nΤο πρόγραμμα διαβάζει τις ρυθμίσεις.\n",
        ("cp1253", "iso8859-7"),
    ),
    "polish": (
        "Zażółć gęślą jaźń. To jest zwykły tekst w języku polskim.\nWczytuje ustawienia, jeśli chcesz tego żądać.\n",
        ("cp1250", "iso8859-2"),
    ),
    "czech": (
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Toto je běžný text v češtině.\nProgram načte nastavení.\n",
        ("cp1250",),
    ),
    "turkish": (
        "Bu Türkçe yazılmış sıradan bir metindir. Şimdi çalışıyor, ağaçlar yeşil.\nProgram ayarları dosyadan okur.\n",
        ("cp1254", "iso8859-9"),
    ),
    "arabic": (
        "مرحبا بالعالم! هذا نص عادي مكتوب باللغة العربية.\nيقرأ البرنامج الإعدادات من الملف ثم يعرض النتائج.\n",
        ("cp1256", "iso8859-6"),
    ),
    "thai": (
        "สวัสดีชาวโลก นี่คือข้อความธรรมดาที่เขียนเป็นภาษาไทย\nโปรแกรมอ่านการตั้งค่าจากไฟล์และแสดงผลลัพธ์บนหน้าจอ\n",
        ("cp874", "tis-620"),
    ),
    "hebrew": (
        "שלום עולם! זהו טקסט רגיל שנכתב בעברית.\nהתוכנית קוראת את ההגדרות מהקובץ ומציגה את התוצאות על המסך.\n",
        ("cp1255", "iso8859-8"),
    ),
    "russian": (
        "Программа читает настройки из файла и показывает результаты на экране, если пользователь этого хочет.\n",
        ("cp1251", "koi8-r", "cp866", "iso8859-5"),
    ),
    "bulgarian": ("Програмата чете настройките от файла и показва резултатите на екрана.\n", ("cp1251",)),
    "japanese": ("設定ファイルから値を読み取り、結果を画面に表示します。\n", ("cp932", "shift_jis", "euc_jp")),
    "chinese": ("程序从配置文件中读取设置，并在用户需要时把结果显示在屏幕上。\n", ("gbk", "gb2312", "gb18030")),
    "traditional chinese": ("程式從設定檔中讀取設定，並在使用者需要時把結果顯示在螢幕上。\n", ("big5",)),
    "korean": ("프로그램은 파일에서 설정을 읽고 사용자가 원하면 결과를 화면에 표시합니다.\n", ("euc-kr", "cp949")),
    "german": ("Das Programm liest die Einstellungen – falls gewünscht – „schön“ für größere Geräte.\n", ("cp1252",)),
    "french": ("Le programme lit les réglages dans le fichier et affiche les résultats à l’écran.\n", ("cp1252",)),
    "spanish": ("El programa lee la configuración del año pasado. ¿Qué más? ¡Nada!\n", ("latin-1",)),
}
SAMPLES = [(text, encoding) for text, encodings in LANGUAGES.values() for encoding in encodings]
PROGRAM = """# {}
import sys


def load(path):
    \"\"\"Read the settings from a file and return them as a dictionary.\"\"\"
    with open(path) as stream:
        return dict(line.split("=", 1) for line in stream)
"""
CASES = [(text, encoding) for text, encodings in TEXTS.values() for encoding in encodings]
NAMES = [f"{name} {encoding}" for name, (_, encodings) in TEXTS.items() for encoding in encodings]


@each(("text", "encoding"), CASES)
def test_an_old_encoding_is_recognised(text: str, encoding: str):
    file = decode(text.encode(encoding))
    assert file is not None
    assert (file.text, file.encoding) == (text, encoding)
    assert file.is_unmarked


@each(("text", "encoding"), CASES)
def test_an_old_encoding_is_recognised_behind_much_ascii(text: str, encoding: str):
    whole = "plain = 1\n" * 5000 + text
    file = decode(whole.encode(encoding))
    assert file is not None
    assert (file.text, file.encoding) == (whole, encoding)


@each(("text", "encoding"), SAMPLES)
def test_the_letters_of_many_languages_are_recognised(text: str, encoding: str):
    file = decode(text.encode(encoding))
    assert file is not None
    assert file.text == text
    assert file.encode(text + text) == (text + text).encode(encoding)


@each(("text", "encoding"), SAMPLES)
def test_they_are_recognised_in_the_comments_of_a_program(text: str, encoding: str):
    if encoding in {"euc-kr", "cp949"}:  # then named as uncertain, below
        return
    whole = PROGRAM.format(" ".join(text.splitlines()))
    file = decode(whole.encode(encoding))
    assert file is not None
    assert file.text == whole


@each("encoding", ["gbk", "cp1251"])
def test_a_long_line_is_recognised(encoding: str):
    text = {
        "gbk": "程序从配置文件中读取设置，并在用户需要时把结果显示在屏幕上。",
        "cp1251": "Программа читает настройки. ",
    }
    for whole in (text[encoding] * 600, "x" * 300_000 + text[encoding] * 4000):
        file = decode(whole.encode(encoding))
        assert file is not None
        assert file.text == whole


HARD = [
    ("Árvíztűrő tükörfúrógép. Ez egy közönséges magyar szöveg.\n", "cp1250"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy. Toto je běžný text v češtině.\n", "iso8859-2"),
    ("Şifre çok kısa\n", "cp1254"),
]


@each(("text", "encoding"), HARD)
def test_of_an_uncertain_guess_it_is_said_what_else_it_may_be(text: str, encoding: str):
    file = decode(text.encode(encoding))
    assert file is not None
    assert file.others
    assert "a guess" in file.note
    assert encoding in {file.encoding, *file.others}
    assert all(other in file.note for other in file.others)
    assert file.encode(file.text) == text.encode(encoding)


def test_bytes_that_were_written_in_an_encoding_are_read_in_it_again():
    file = decode("Привет, мир! Это обычный текст.\n".encode("koi8-r"))
    assert file is not None
    for text in ("щ\n", "x = 'ы'\n", "Ж"):
        again = decode(file.encode(text))
        assert again is not None
        assert (again.text, again.encoding) == (text, file.encoding)


UMLAUTS = "Größe, Äpfel, Öl\n"
ODD = {
    "one byte": UMLAUTS.encode() + b"odd \xff byte\n",
    "a word of Latin-1": UMLAUTS.encode() + "süß\n".encode("latin-1"),
    "the end cut": UMLAUTS.encode() + "Ü".encode()[:1],
    "an overlong slash": UMLAUTS.encode() + b"\xc0\xaf\n",
    "half a surrogate pair": ("日本語" * 3).encode() + b"\xed\xa0\x80\n",
    "behind a mark": b"\xef\xbb\xbf" + UMLAUTS.encode() + b"\xe4\r\n",
    "more than there are umlauts, in much ASCII": b"plain = 1\n" * 1000 + "süß\n".encode() + b"\xff, \xe4 and \xfc\n",
    "a line of Latin-1 in much ASCII": b"# caf\xe9, \xe0, d\xe9j\xe0\n" + b"plain = 1\n" * 1000 + "# é\n".encode(),
    "in much text": UMLAUTS.encode() * 2000 + b"\x80" + UMLAUTS.encode() * 2000,
}


@each("data", list(ODD.values()))
def test_a_file_of_which_most_is_utf_8_is_utf_8_and_keeps_its_odd_bytes(data: bytes):
    file = decode(data)
    assert file is not None
    assert (file.encoding, file.has_odd_bytes) == ("utf-8", True)
    assert file.encode(file.text) == data
    assert file.encode("ü" + file.text) == data[: len(file.mark)] + "ü".encode() + data[len(file.mark) :]
    assert "not UTF-8" in file.note


@each(("text", "encoding"), SAMPLES + CASES)
def test_no_text_of_an_old_encoding_is_taken_for_utf_8_with_odd_bytes(text: str, encoding: str):
    for whole in (text, "plain = 1\n" * 500 + text, text * 50):
        file = decode(whole.encode(encoding))
        assert file is not None
        assert not file.has_odd_bytes


@each(
    "odd",
    [
        "é".encode("latin-1"),
        "Grüße „schön“ – größer".encode("cp1252"),
        "größte Größe, süß".encode("latin-1") * 20 + "ü".encode(),
        "设置配置联通".encode("gb18030"),
    ],
)
def test_few_bytes_of_an_old_encoding_in_much_ascii_are_not_odd_bytes(odd: bytes):
    file = decode(b"plain = 1\n" * 200 + b"# " + odd)
    assert file is not None
    assert file.encoding != "utf-8"


LOST_TO_A_SERVER = {
    "as it was": ("a \udcff b\nc\nü ü\n", "a \ufffd b\nc\nü ü\n", "a \udcff b\nc\nü ü\n"),
    "other lines change": ("a \udcff b\nc\nü ü\n", "new\na \ufffd b\nü ü ü\n", "new\na \udcff b\nü ü ü\n"),
    "its line changes": (
        "one \udcff two\nc\nü ü\n",
        "one \ufffd two, more\nc\nü ü\n",
        "one \udcff two, more\nc\nü ü\n",
    ),
    "two in order": ("x \udcfe\nx \udcff\nü ü ü\n", "x \ufffd\nx \ufffd\nü ü ü\n", "x \udcfe\nx \udcff\nü ü ü\n"),
}


@each(("old", "sent", "kept"), list(LOST_TO_A_SERVER.values()))
def test_odd_bytes_are_kept_though_a_server_made_replacement_characters_of_them(old: str, sent: str, kept: str):
    file = decode(old.encode("utf-8", "surrogateescape"))
    assert file is not None
    assert file.encode(sent) == kept.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(encoding: str):
    text = "name = 'größe'\r\n" * 3
    file = decode(text.encode(encoding))
    assert file is not None
    assert (file.text, file.encoding, file.mark) == (text, encoding, b"")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_names_the_encoding(encoding: str):
    file = decode("größe".encode(encoding))
    assert file is not None
    assert file.text == "größe"
    assert file.mark
    assert not file.is_unmarked


BINARY = {
    "program": b"\x7fELF\x02\x01\x01" + bytes(9),
    "numbers": bytes(range(256)) * 4,
    "noise": bytes(random.Random(1).choices(range(1, 256), k=2000)),
    "small integers": b"".join(n.to_bytes(2, "little") for n in range(30)),
    "holes": b"text" + bytes(5000),
    "half a utf-16 character": b"\xff\xfea",
}


@pytest.mark.parametrize("data", BINARY.values(), ids=BINARY)
def test_what_is_not_text_is_none(data: bytes):
    assert decode(data) is None


@each("text", ["\x1b[31mred\x1b[0m\n", "\t\f\r\n", "a\x00".replace("\x00", ""), "大\u3000小\n", "🙂"])
def test_what_is_text_is_not_binary(text: str):
    assert not looks_binary(text.encode())


@given(st.binary(max_size=300))
@settings(max_examples=80, deadline=None)
def test_decoding_loses_nothing(data: bytes):
    file = decode(data)
    assert file is None or file.encode(file.text) == data


@given(st.text("aB3 \n-éß¿Жщ大が한🙂\u3000\ufeff", max_size=60))
@settings(max_examples=80, deadline=None)
def test_utf_8_is_never_taken_for_something_else(text: str):
    file = decode(text.encode())
    assert file is not None
    assert file.encoding == "utf-8"


@given(st.binary(max_size=200))
@settings(max_examples=80, deadline=None)
def test_a_guess_reads_and_writes_all_bytes(data: bytes):
    encoding = guess_encoding(data).encoding
    assert data.decode(encoding).encode(encoding) == data

"""Bytes to text and back: marks, encodings old and new, and what is not text."""

from __future__ import annotations

import random

import pytest

from tests.support.each import each
from tools.text.encoding import decode, looks_binary
from tools.text.legacy import guess_encoding

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
    encoding = guess_encoding(data)
    assert data.decode(encoding).encode(encoding) == data

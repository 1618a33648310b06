"""How a token is written on the screen: spaces and controls visible, broken characters as bytes."""

import unicodedata

MARKS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
_HIDDEN = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Cn",
    "Co",
)  # controls, joiners and direction marks would reorder or vanish
_JOINER = "\N{ZERO WIDTH JOINER}"


def visible(raw: bytes) -> str:
    """The token's text with nothing invisible in it; bytes that are no whole character appear as ⟨E2⟩."""
    text = raw.decode("utf-8", errors="surrogateescape")
    return "".join(_visible_char(char) for char in text)


def _visible_char(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape: a byte that is not text on its own
        return f"⟨{code - 0xDC00:02X}⟩"
    if char in MARKS:
        return MARKS[char]
    if code < 0x20:
        return chr(0x2400 + code)
    if char != _JOINER and unicodedata.category(char) in _HIDDEN:
        return f"⟨U+{code:04X}⟩"
    return char


def hex_bytes(raw: bytes) -> str:
    return raw.hex(" ").upper()

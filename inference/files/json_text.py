"""The text of a JSON file as somebody saved it, with or without the byte order mark that some editors add."""

import json

_MARK = "\ufeff"


def json_text(content: str | bytes) -> str:
    """The text without its mark, in UTF-8, UTF-16 or UTF-32. A `ValueError` if it is no text."""
    if isinstance(content, str):
        return content.removeprefix(_MARK)
    try:
        return content.decode(json.detect_encoding(content)).removeprefix(_MARK)
    except UnicodeDecodeError:
        raise ValueError("the file is not text; save it as JSON in UTF-8") from None

"""Brings a text into one form: lines end with LF and without blanks."""

import ralph


def canonicalise(path: str, content: bytes) -> bytes:
    try:
        text = content.decode()
    except UnicodeDecodeError as e:
        raise ralph.Refusal(f"{path} isn't UTF-8: {e}") from None
    return "".join(line.rstrip() + "\n" for line in text.splitlines()).encode()


Canonicaliser = ralph.canonicaliser("@NAME@-1", canonicalise)

"""Messages as frames on a stream of bytes: four bytes of length (big-endian), then the message in JSON (UTF-8)."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

from .messages import DisplayData, ExecuteResult, Message, decode, encode

_LENGTH = struct.Struct(">I")


def pack(message: Message) -> bytes:
    """One frame. A message that cannot be written as JSON is packed with its text parts only, and says so."""
    try:
        text = encode(message)
    except Exception as error:  # the values are the user's: a `__str__` that raises, a circle, keys that are no text
        text = encode(_plain(message, error))
    data = text.encode("utf-8", "replace")
    return _LENGTH.pack(len(data)) + data


def _plain(message: Message, error: Exception) -> Message:
    fields: dict[str, Any] = {f.name: getattr(message, f.name) for f in dataclasses.fields(message)}
    if isinstance(message, DisplayData | ExecuteResult):
        kept = {mime: value for mime, value in message.data.items() if isinstance(value, str)}
        note = f"[parts of this output cannot be shown: {type(error).__name__}]"
        kept["text/plain"] = f"{kept['text/plain']}\n{note}" if "text/plain" in kept else note
        fields.update(data=kept, metadata={})
    else:
        fields = {k: v if isinstance(v, str | int | float | bool | None) else type(v)() for k, v in fields.items()}
    return type(message)(**fields)


class Unpacker:
    """Cuts what arrives into messages, wherever the pieces end."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes. Raises `BadMessage` for a frame that is none."""
        self._data += data
        messages = []
        start = 0
        while len(self._data) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data, start)
            end = start + _LENGTH.size + length
            if len(self._data) < end:
                break
            messages.append(decode(self._data[start + _LENGTH.size : end].decode("utf-8")))
            start = end
        del self._data[:start]
        return messages

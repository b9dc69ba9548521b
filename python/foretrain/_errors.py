"""What calls raise. Each tells which field of the request is at fault, or which line of a file, where one is."""
from __future__ import annotations

import json
from typing import Any, Optional


class Error(Exception):
    """Something that the library could not answer. ``str()`` is one line of words."""

    #: The argument at fault, as its function calls it; None where it is none of them.
    field: Optional[str]
    #: The place in a file or text that was given, counted from 1; None where there is none.
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]

    def __init__(self, message: str, field: Optional[str] = None, file: Optional[str] = None,
                 line: Optional[int] = None, column: Optional[int] = None) -> None:
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.field, self.file, self.line, self.column = field, file, line, column


class InputError(Error, ValueError):
    """The request is at fault: a name that nothing has, a plan that no run can have, a file that does not parse."""


class MachineError(Error, RuntimeError):
    """The machine is at its limits: memory, threads, disk."""


class InternalError(Error, RuntimeError):
    """A fault of Foretrain's own; please report it."""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search. What it had found by then is in ``result`` (None where that was nothing yet)."""

    def __init__(self, result: Any) -> None:
        super().__init__("search interrupted; .result has the best plans so far")
        self.result = result


def error_of(text: str) -> Error:
    """The exception that a text of foretrain_last_error() means."""
    told = json.loads(text).get("error") or {"message": "unknown error", "kind": "fault"}
    kinds = {"input": InputError, "machine": MachineError}
    return kinds.get(told["kind"], InternalError)(
        told["message"], told.get("field"), told.get("file"), told.get("line"), told.get("column"))

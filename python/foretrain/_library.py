"""The functions of foretrain.h, by ctypes, which lets other threads run while one of them works."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

from ._errors import error_of


class Column(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("whole", ctypes.c_void_p), ("real", ctypes.c_void_p),
                ("words", ctypes.POINTER(ctypes.c_char_p)), ("word_count", ctypes.c_size_t)]


class Scores(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in
                ("step_s", "step_low_s", "step_high_s", "needed_bytes", "fit_probability", "verdict", "status")]


class Score(ctypes.Structure):
    _fields_ = [("step_s", ctypes.c_double), ("step_low_s", ctypes.c_double), ("step_high_s", ctypes.c_double),
                ("needed_bytes", ctypes.c_double), ("fit_probability", ctypes.c_double),
                ("verdict", ctypes.c_int32), ("reserved", ctypes.c_int32)]


_HANDLE, _TEXT, _OWNED, _INT, _SIZE = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int,
                                       ctypes.c_size_t)
_FUNCTIONS = {
    "version": (_TEXT, []),
    "last_error": (_TEXT, []),
    "free": (None, [_OWNED]),
    "session_open": (_HANDLE, [_TEXT]),
    "session_close": (None, [_HANDLE]),
    "answer": (_OWNED, [_HANDLE, _TEXT, _TEXT]),
    "run_open": (_HANDLE, [_HANDLE, _TEXT]),
    "run_close": (None, [_HANDLE]),
    "run_predict": (_OWNED, [_HANDLE, _TEXT]),
    "run_score": (_INT, [_HANDLE, _TEXT, ctypes.POINTER(Score)]),
    "run_score_plans": (_INT, [_HANDLE, _SIZE, ctypes.POINTER(Column), _SIZE, ctypes.POINTER(Scores)]),
    "run_refusal": (_INT, [_HANDLE, _SIZE, ctypes.POINTER(Column), _SIZE, _SIZE,
                           ctypes.POINTER(ctypes.c_void_p)]),
    "plan_fields": (_OWNED, []),
    "search_start": (_HANDLE, [_HANDLE, _TEXT]),
    "search_progress": (_OWNED, [_HANDLE]),
    "search_wait": (_INT, [_HANDLE, ctypes.c_double]),
    "search_cancel": (None, [_HANDLE]),
    "search_answer": (_OWNED, [_HANDLE]),
    "search_close": (None, [_HANDLE]),
}


def _open() -> Any:
    # Beside this file in a wheel; elsewhere where the environment says, or where the system's loader finds it.
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libforetrain.so")
    path = os.environ.get("FORETRAIN_LIBRARY") or (beside if os.path.exists(beside) else "libforetrain.so.0.1")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"foretrain needs its library: {error}; FORETRAIN_LIBRARY may name it") from error
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, "foretrain_" + name)
        function.restype, function.argtypes = result, arguments
    return loaded


_loaded = _open()


def function(name: str) -> Any:
    return getattr(_loaded, "foretrain_" + name)


_last_error, _free = function("last_error"), function("free")


def last_error() -> Exception:
    return error_of(_last_error().decode())


def taken(pointer: Optional[int]) -> str:
    """A text that the library gives away."""
    if not pointer:
        raise last_error()
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        _free(pointer)


class Handle:
    """What the library opened, closed when nobody refers to it any more."""

    def __init__(self, pointer: Optional[int], close: str) -> None:
        self._close = None
        if not pointer:
            raise last_error()
        self.pointer, self._close, self._process = pointer, function(close), os.getpid()

    def __del__(self) -> None:
        # A forked child has no threads of its parent's to wait for.
        if self._close is not None and self._process == os.getpid():
            self._close(self.pointer)
            self._close = None

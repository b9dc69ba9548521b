"""Plans in whatever form people have them, as the columns that the library scores (foretrain_column in foretrain.h).

Numbers go over as they lie in memory. Words go over once each, with a code for every plan.
"""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from ._library import Column
from ._request import is_missing, value_text

_MISSING = -2 ** 63  # FORETRAIN_MISSING
_NUMBERS = {int, bool, float, type(None)}


def numpy() -> Any:
    """The module, or None where there is none."""
    try:
        import numpy as module
    except ImportError:
        return None
    return module


def _number(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def parse(text: str) -> Dict[str, Any]:
    """"tp=4,pp=2" as a dict. What has no "=" goes on with the value before it, as in recompute=moe_act,layernorm."""
    plan: Dict[str, Any] = {}
    last = ""
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            last = key.strip()
            plan[last] = _number(value.strip())
        elif last:
            plan[last] = f"{plan[last]}+{part}"
        else:
            raise ValueError(f"expected key=value, found {part!r}")
    return plan


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__")


def by_key(plans: Any) -> Tuple[int, Dict[str, Any]]:
    """How many plans, and a column for each key: of a DataFrame, a dict of columns, one plan, or a list of plans."""
    if hasattr(plans, "columns") and hasattr(plans, "iloc"):
        names = [str(name) for name in plans.columns]
        for name in names:
            if names.count(name) > 1:  # of which a frame gives both, as another frame
                raise ValueError(f"found {names.count(name)} columns {name!r}, expected one")
        return len(plans), {name: plans.iloc[:, i] for i, name in enumerate(names)}
    if isinstance(plans, str):
        plans = parse(plans)
    if isinstance(plans, Mapping):
        lengths = {len(column) for column in plans.values() if not _is_scalar(column)}
        if len(lengths) > 1:
            raise ValueError(f"expected columns of one length, found {sorted(lengths)}")
        count = lengths.pop() if lengths else 1
        return count, {str(key): [column] * count if _is_scalar(column) else column
                       for key, column in plans.items()}
    return _of_rows([parse(plan) if isinstance(plan, str) else plan for plan in plans])


def _of_rows(rows: List[Mapping[str, Any]]) -> Tuple[int, Dict[str, Any]]:
    keys: Dict[str, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
    return len(rows), {key: [row.get(key) for row in rows] for key in keys}


def _words(key: str, values: Iterable[Any]) -> Tuple[Any, List[bytes]]:
    known: Dict[Any, int] = {}
    codes = array("q")
    for value in values:
        if is_missing(value):
            codes.append(_MISSING)  # of a column without a single word, which may be of numbers, too
            continue
        word = value if type(value) is str else value_text(key, value)
        codes.append(known.setdefault(word, len(known)))
    return codes, [word.encode() for word in known]


def _of_list(key: str, values: Sequence[Any]) -> Tuple[Any, List[bytes]]:
    kinds = set(map(type, values))
    if not kinds <= _NUMBERS:
        if any(hasattr(kind, "item") for kind in kinds):  # scalars of numpy
            return _of_list(key, [value.item() if hasattr(value, "item") else value for value in values])
        return _words(key, values)
    if float in kinds:
        return array("d", (float("nan") if value is None else value for value in values)), []
    if type(None) in kinds:
        return array("q", (_MISSING if value is None else value for value in values)), []
    return array("q", values), []


def _encoded(key: str, values: Any) -> Tuple[Any, List[bytes]]:
    """An array of int64 or double, and the words that it holds codes of."""
    dtype = getattr(values, "dtype", None)
    if dtype is None:
        return _of_list(key, values if isinstance(values, (list, tuple)) else list(values))
    if hasattr(values, "cat"):
        codes = array("q", (_MISSING if code < 0 else code for code in values.cat.codes))
        return codes, [value_text(key, word).encode() for word in values.cat.categories]
    kind = getattr(dtype, "kind", "O")
    if kind in "iubf" and hasattr(dtype, "numpy_dtype"):  # of pandas, with values that may be missing
        return values.to_numpy("float64", na_value=float("nan")), []
    if kind in "iubf":
        return numpy().ascontiguousarray(values, "float64" if kind == "f" else "int64"), []
    return _of_list(key, list(values))


def _address(values: Any) -> int:
    return values.buffer_info()[0] if isinstance(values, array) else values.ctypes.data


class Columns:
    """The columns as the library takes them; they live as long as this."""

    def __init__(self, plans: Any) -> None:
        self.count, self.by_key = by_key(plans)
        self._held: List[Any] = []
        self.columns = (Column * max(1, len(self.by_key)))()
        self.size = len(self.by_key)
        for column, (key, values) in zip(self.columns, self.by_key.items()):
            encoded, words = _encoded(key, values)
            if len(encoded) != self.count:
                raise ValueError(f"column {key!r}: found {len(encoded)} values, expected {self.count}, one a plan")
            real = (encoded.typecode == "d") if isinstance(encoded, array) else encoded.dtype.kind == "f"
            column.key = key.encode()
            if self.count:
                setattr(column, "real" if real else "whole", _address(encoded))
            table = (ctypes.c_char_p * len(words))(*words)
            column.words, column.word_count = (table if words else None), len(words)
            self._held += [encoded, table]

    def plan(self, i: int) -> Dict[str, Any]:
        """One of them, as a dict of what it states."""
        row = {}
        for key, values in self.by_key.items():
            value = values.iloc[i] if hasattr(values, "iloc") else values[i]
            value = value.item() if hasattr(value, "item") else value
            if isinstance(value, float) and value.is_integer():  # 2.0, as a column with NaN has its 2
                value = int(value)
            if not is_missing(value):
                row[key] = value
        return row

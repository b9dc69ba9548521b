"""Arguments as people have them, as the texts of requests."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Union

#: A word or number as the command line takes it: 64, "4096ktok", "30d".
Word = Union[str, int, float]
#: A name, a file, or what a file would hold.
Spec = Union[str, "os.PathLike[str]", Mapping[str, Any], "Any"]
#: "tp=4,pp=2" or {"tp": 4, "pp": 2}.
Plan = Union[str, Mapping[str, Any]]


def text_of(path: "os.PathLike[str] | str") -> Dict[str, str]:
    """A file's content under its name."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return {"name": os.fspath(path), "text": content.decode()}
    except UnicodeDecodeError:  # gzip
        import base64
        return {"name": os.fspath(path), "base64": base64.b64encode(content).decode()}


def plain(value: Any) -> Any:
    """What JSON can hold: numbers of numpy become Python's, sets and tuples lists."""
    if hasattr(value, "_as_request"):
        return value._as_request()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    return value


def content(value: Any) -> Any:
    """A file to be read: a path, or a content by itself."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and "\n" not in value and
                                          not value.lstrip().startswith("{")):
        return text_of(value)
    return plain(value)


def plan_text(plan: Any) -> str:
    """A plan in the form of the command line."""
    if plan is None or isinstance(plan, str):
        return plan or ""
    return ",".join(f"{key}={value_text(key, value)}" for key, value in plan.items() if value is not None)


def value_text(key: str, value: Any) -> str:
    """A value of a plan as a word: lists are joined as the command line joins them."""
    if isinstance(value, (list, tuple)):
        return ("-" if key in ("layers_per_stage", "bf16_layers") else "+").join(str(part) for part in value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def request(**words: Any) -> bytes:
    given = {key: value for key, value in words.items() if value is not None}
    if "run" in given:
        given["run"] = content(given["run"])
    if "runs" in given:
        given["runs"] = [content(run) for run in given["runs"]]
    if "plan" in given:
        given["plan"] = plan_text(given["plan"])
    return json.dumps(plain(given)).encode()

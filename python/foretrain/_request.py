"""Arguments as people have them, as the texts of requests."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, TypedDict, Union

if TYPE_CHECKING:
    from ._model import Model

#: A word or number as the command line takes it: 64, "4096ktok", "30d".
Word = Union[str, int, float]
#: A name, a file, or what a file would hold.
Spec = Union[str, "os.PathLike[str]", Mapping[str, Any], "Model"]
#: "tp=4,pp=2" or {"tp": 4, "pp": 2}.
Plan = Union[str, Mapping[str, Any]]
#: A folder of foretrain calibrate, its calibration.yaml, or the text of that.
Calibration = Union[str, "os.PathLike[str]"]
#: One word or several: "pp=1", ["tp=8", "zero=1,2"].
Words = Union[str, List[str]]
#: Words, or {"tp": 8, "zero": [1, 2]}.
Constraints = Union[Words, Mapping[str, Any]]


class Job(TypedDict, total=False):
    """What is trained on what: arguments that several functions share, as predict explains them."""

    cluster: Spec
    gpus: Word
    global_batch: Word
    seq: Word
    stack: Spec
    documents: Word
    task: str
    profile: str
    tokens: Word
    run: Any


class PlannedJob(Job, total=False):
    """With a plan, or one that others start from."""

    plan: Plan


class SearchJob(Job, total=False):
    """What a search may be told besides (docs/search.md)."""

    set: Constraints
    range: Constraints
    forbid: Constraints
    headroom: Word
    objective: str
    top: Word
    deadline: Word
    budget: Word
    why: Union[Plan, List[Plan]]
    what_if: Constraints
    threads: Word
    time: Word
    launch: str
    calibration: Calibration


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
    value = scalar(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


def scalar(value: Any) -> Any:
    """Of numpy's scalars Python's, of its arrays lists; 64.0, as a column of floats has it, is 64."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_missing(value: Any) -> bool:
    """None, NaN, or the NA of pandas, which will not even be compared."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def content(value: Any, files: bool = True) -> Any:
    """A file to be read: a path, or a content by itself. Without `files` no path is opened: a text is a content."""
    if isinstance(value, os.PathLike) and not files:
        raise ValueError(f"found the path {os.fspath(value)!r}, but no file is opened for this session")
    if isinstance(value, os.PathLike) or (files and isinstance(value, str) and "\n" not in value and
                                          not value.lstrip().startswith("{")):
        return text_of(value)
    return plain(value)


def calibration(value: Any, files: bool) -> Any:
    """A calibration's file, of its folder too, or its text."""
    is_path = isinstance(value, os.PathLike) or (isinstance(value, str) and "\n" not in value)
    if files and is_path and os.path.isdir(value):
        value = os.path.join(value, "calibration.yaml")
    return content(value, files)


def plan_text(plan: Any) -> str:
    """A plan in the form of the command line."""
    if plan is None or isinstance(plan, str):
        return plan or ""
    if not isinstance(plan, Mapping):
        return ",".join(plan_text(part) for part in plan)
    return ",".join(f"{key}={value_text(key, value)}" for key, value in plan.items() if not is_missing(value))


def value_text(key: str, value: Any) -> str:
    """A value of a plan as a word: lists are joined as the command line joins them."""
    value = scalar(value)
    if isinstance(value, (list, tuple)):
        return ("-" if key in ("layers_per_stage", "bf16_layers") else "+").join(str(scalar(part)) for part in value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def constraint_words(given: Any) -> Any:
    """Constraints as the command line takes them: {"tp": 8, "zero": [1, 2]} is ["tp=8", "zero=1,2"]."""
    if not isinstance(given, Mapping):
        return given
    return [f"{key}=" + (",".join(value_text(key, one) for one in value) if isinstance(value, (list, tuple, set, range))
                         else value_text(key, value)) for key, value in zip(given, map(scalar, given.values()))
            if not is_missing(value)]


def request(files: bool, **words: Any) -> bytes:
    """The request of these words; `files`: whether paths among its contents may be opened."""
    given = {key: value for key, value in words.items() if value is not None}
    if "run" in given:
        given["run"] = content(given["run"], files)
    if "runs" in given:
        given["runs"] = [content(run, files) for run in given["runs"]]
    if "calibration" in given:
        given["calibration"] = calibration(given["calibration"], files)
    if "plan" in given:
        given["plan"] = plan_text(given["plan"])
    if "why" in given:
        plans = given["why"] if isinstance(given["why"], list) else [given["why"]]
        given["why"] = [plan_text(plan) for plan in plans]
    for key in ("set", "range", "forbid", "what_if"):
        if key in given:
            given[key] = constraint_words(given[key])
    return json.dumps(plain(given)).encode()

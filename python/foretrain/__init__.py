"""Foretrain: what a training step of a large language model takes on a cluster, what memory each GPU needs, where the
time goes, and which parallel plan is best. On a CPU, in milliseconds, without a network.

    import foretrain
    foretrain.predict("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512, plan={"tp": 2, "zero": 1})
    foretrain.search("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512).best[0].plan
    foretrain.score(plans, "llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512).step_s

The functions are methods of a Session that is opened when it is first needed; docs/python.md is the manual.
"""
from __future__ import annotations

from typing import Any

from . import _library
from ._answers import Answer, Prediction, SearchResult, Table, Text
from ._errors import Error, InputError, InternalError, MachineError, SearchInterrupted
from ._model import Model
from ._run import Run, Score, plan_fields
from ._scores import Scores
from ._session import Session, default_session

__version__: str = _library.function("version")().decode()


def predict(model: Any = None, **words: Any) -> Prediction:
    return default_session().predict(model, **words)


def run(model: Any = None, **words: Any) -> Run:
    return default_session().run(model, **words)


def score(plans: Any, model: Any = None, **words: Any) -> Scores:
    return default_session().score(plans, model, **words)


def search(model: Any = None, **words: Any) -> SearchResult:
    return default_session().search(model, **words)


def over(over: str, model: Any = None, **words: Any) -> Answer:
    return default_session().over(over, model, **words)


def compare(runs: Any, **words: Any) -> Any:
    return default_session().compare(runs, **words)


def convert(run: Any, to: str = "run", **words: Any) -> Any:
    return default_session().convert(run, to, **words)


def list(kind: str) -> Table:
    return default_session().list(kind)


def show(kind: str, name: Any, **words: Any) -> Any:
    return default_session().show(kind, name, **words)


def cost(words: Any = None, **more: Any) -> Answer:
    return default_session().cost(words, **more)


def validate(tables: Any, **words: Any) -> Answer:
    return default_session().validate(tables, **words)


def diagnose(measured: Any, **words: Any) -> Answer:
    return default_session().diagnose(measured, **words)


def import_(format: str, logs: Any, **words: Any) -> Any:
    return default_session().import_(format, logs, **words)


# One text says what each does, and which arguments it takes.
for _function in (predict, run, score, search, over, compare, convert, list, show, cost, validate, diagnose, import_):
    _function.__doc__ = getattr(Session, _function.__name__).__doc__

__all__ = [
    "Answer", "Error", "InputError", "InternalError", "MachineError", "Model", "Prediction", "Run", "Score", "Scores",
    "SearchInterrupted", "SearchResult", "Session", "Table", "Text", "compare", "convert", "cost",
    "default_session", "diagnose", "import_", "over", "plan_fields", "predict", "run", "score", "search",
    "validate", "__version__"]

"""Foretrain: what a training step of a large language model takes on a cluster, what memory each GPU needs, where the
time goes, and which parallel plan is best. On a CPU, in milliseconds, without a network.

    import foretrain
    foretrain.predict("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512, plan={"tp": 2, "zero": 1})
    foretrain.search("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512).best[0].plan
    foretrain.score(plans, "llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512).step_s

The functions are methods of a Session that is opened when it is first needed; docs/python.md is the manual.
"""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from . import _library
from ._answers import Answer, Prediction, SearchResult, Table, Text
from ._errors import Error, InputError, InternalError, MachineError, SearchInterrupted
from ._model import Model
from ._run import Run, Score, plan_fields
from ._scores import Scores
from ._session import Session, default_session

__version__: str = _library.function("version")().decode()


def _asks_the_default(name: str) -> Any:
    """The method of that name, of the session that the package opens: with its signature and its words."""
    method = getattr(Session, name)

    @functools.wraps(method)
    def ask(*arguments: Any, **words: Any) -> Any:
        return getattr(default_session(), name)(*arguments, **words)

    signature = inspect.signature(method)
    ask.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])  # type: ignore
    return ask


if TYPE_CHECKING:
    _default = default_session()
    predict = _default.predict
    run = _default.run
    score = _default.score
    search = _default.search
    over = _default.over
    accuracy = _default.accuracy
    compare = _default.compare
    convert = _default.convert
    list = _default.list
    show = _default.show
    cost = _default.cost
    validate = _default.validate
    diagnose = _default.diagnose
    import_ = _default.import_
else:
    predict = _asks_the_default("predict")
    run = _asks_the_default("run")
    score = _asks_the_default("score")
    search = _asks_the_default("search")
    over = _asks_the_default("over")
    accuracy = _asks_the_default("accuracy")
    compare = _asks_the_default("compare")
    convert = _asks_the_default("convert")
    list = _asks_the_default("list")
    show = _asks_the_default("show")
    cost = _asks_the_default("cost")
    validate = _asks_the_default("validate")
    diagnose = _asks_the_default("diagnose")
    import_ = _asks_the_default("import_")

__all__ = [
    "Answer", "Error", "InputError", "InternalError", "MachineError", "Model", "Prediction", "Run", "Score", "Scores",
    "SearchInterrupted", "SearchResult", "Session", "Table", "Text", "accuracy", "compare", "convert", "cost",
    "default_session", "diagnose", "import_", "over", "plan_fields", "predict", "run", "score", "search",
    "validate", "__version__"]

"""One run, asked about plan after plan."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Optional

from . import _library as library
from ._answers import Prediction, Table
from ._request import Plan, plan_text
from ._scores import VERDICTS, Scores


class Score(NamedTuple):
    """The figures of one plan."""

    step_s: float
    step_low_s: float
    step_high_s: float
    needed_bytes: float
    fit_probability: float
    verdict: str


class Run:
    """One model, cluster, stack, batch and number of GPUs (``foretrain.run``). Several threads may use it at once."""

    def __init__(self, pointer: Optional[int]) -> None:
        self.handle = library.Handle(pointer, "run_close")
        self._predict, self._score = library.function("run_predict"), library.function("run_score")

    def predict(self, plan: Optional[Plan] = None) -> Prediction:
        """As foretrain.predict, for the run's plan with these keys changed."""
        return Prediction(library.taken(self._predict(self.handle.pointer, plan_text(plan).encode())))

    def score_one(self, plan: Optional[Plan] = None) -> Score:
        """The figures of predict alone, many times as fast."""
        out = library.Score()
        if self._score(self.handle.pointer, plan_text(plan).encode(), ctypes.byref(out)) < 0:
            raise library.last_error()
        return Score(out.step_s, out.step_low_s, out.step_high_s, out.needed_bytes, out.fit_probability,
                     VERDICTS[out.verdict])

    def score(self, plans: Any) -> Scores:
        """The figures of many plans: see foretrain.score."""
        return Scores(self, plans)


def plan_fields() -> Table:
    """The keys of a plan: what each may hold and means."""
    return Table(json.loads(library.taken(library.function("plan_fields")())))

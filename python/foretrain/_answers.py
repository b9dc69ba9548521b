"""Answers: the JSON of the command line's --json, as objects that show themselves.

Every key of the JSON is an attribute (``prediction.step_s``, ``result.best[0].plan``) and an item; ``data`` is the whole
as dicts and lists, ``json`` the text. docs/formats/ says what the keys mean.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional

from . import _show as show


class Answer(Mapping[str, Any]):
    """An object of JSON, parsed when it is first looked at."""

    def __init__(self, json_text: Optional[str] = None, data: Any = None) -> None:
        self._json, self._data = json_text, data

    @property
    def data(self) -> Any:
        """As dicts and lists."""
        if self._data is None:
            self._data = json.loads(self._json or "{}")
        return self._data

    @property
    def json(self) -> str:
        """As the command line prints it."""
        return self._json if self._json is not None else json.dumps(self._data, indent=2)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self.data)}") from None

    def __getitem__(self, key: str) -> Any:
        return wrapped(self.data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self.data})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({json.dumps(self.data, indent=2)})"

    def _repr_html_(self) -> str:
        rows = [[key, _brief(value)] for key, value in self.data.items()]
        return show.html_table(type(self).__name__, ("key", "value"), rows)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else text[:99] + "\u2026"


def wrapped(value: Any) -> Any:
    """Objects of JSON as Answers, so that keys are attributes all the way down."""
    if isinstance(value, dict):
        return Answer(data=value)
    return [wrapped(item) for item in value] if isinstance(value, list) else value


def _sure(probability: float) -> str:
    """How sure the likelier of the two is, that a plan fits or that it does not."""
    percent = 100 * max(probability, 1 - probability)
    return "over 99 % sure" if percent > 99 else f"{percent:.0f} % sure"


class Text(str):
    """A text that shows itself with its line breaks."""

    def __repr__(self) -> str:
        return str(self)


class Table(List[Dict[str, Any]]):
    """Rows with the same keys, such as the names of models."""

    def to_pandas(self) -> Any:
        """As a DataFrame."""
        import pandas
        return pandas.DataFrame(list(self))

    def _keys(self) -> List[str]:
        """Of all rows, in the order in which they come up: some have more than others."""
        return list(dict.fromkeys(key for row in self for key in row))

    def _cells(self) -> List[List[str]]:
        return [["" if row.get(key) is None else str(row[key]) for key in self._keys()] for row in self]

    def __repr__(self) -> str:
        return show.text_table(self._keys(), self._cells()) if self else "(none)"

    def _repr_html_(self) -> str:
        return show.html_table(f"{len(self)} rows", self._keys(), self._cells())


class Prediction(Answer):
    """What a run will do. The keys are those of docs/formats/predict-json.md."""

    step_s: float  #: seconds of a step
    step_low_s: float  #: its 80 % interval
    step_high_s: float
    tokens_per_s_per_gpu: float
    mfu: float
    fits: bool
    verdict: str  #: "fits", "may_not_fit" or "does_not_fit"
    fit_probability: float
    needed_bytes: float  #: on the GPU that needs the most: what must fit
    usable_bytes: float
    breakdown_s: Any  #: seconds by cause; they sum to the step
    stages: Any
    assumed: List[str]  #: what nobody stated

    @property
    def plan(self) -> Dict[str, Any]:
        """The whole plan, the stack's choices included."""
        return self.data["run"]["plan"]

    def _head(self) -> str:
        run = self.data["run"]
        return f'{run["model"]} on {run["cluster"]}: {run["gpus"]:,} x {run["gpu"]}, stack {run["stack"]}'

    def _lines(self) -> List[List[str]]:
        d, degrees = self.data, ("tp", "pp", "dp", "cp", "ep", "zero", "micro_batch", "recompute")
        usual = {"zero": 0, "recompute": "none"}
        plan = {key: self.plan[key] for key in degrees if self.plan.get(key) not in (None, usual.get(key, 1))}
        return [
            ["plan", show.plan_words(plan) or "dp=1"],
            ["step", f'{show.seconds(d["step_s"])}, 80 % interval {show.seconds(d["step_low_s"])}'
                     f' to {show.seconds(d["step_high_s"])}'],
            ["throughput", f'{show.count(d["tokens_per_s_per_gpu"])} tokens/s/GPU, MFU {100 * d["mfu"]:.1f} %'],
            ["memory", f'needs {show.gibibytes(d["needed_bytes"])} of {show.gibibytes(d["usable_bytes"])}:'
                       f' {d["verdict"].replace("_", " ")} ({_sure(d["fit_probability"])})'],
        ]

    _FITTING = ("step", "memory", "", "change")

    def _would_fit(self) -> List[List[str]]:
        """The nearest plans that fit, where this one does not."""
        return [[show.seconds(plan["step_s"]), show.gibibytes(plan["needed_bytes"]), _sure(plan["fit_probability"]),
                 plan["change"]] for plan in self.data.get("would_fit", [])]

    def _causes(self) -> List[List[str]]:
        """Where the time goes, the most first."""
        step = self.data["step_s"]
        parts = sorted(self.data["breakdown_s"].items(), key=lambda item: -item[1])
        return [[cause, f"{value:.3f}", f"{100 * value / step:.1f}"] for cause, value in parts
                if value >= 0.0005 * step]

    def __repr__(self) -> str:
        lines = [self._head(), *(f"  {name:<11}{words}" for name, words in self._lines()), "  where the time goes"]
        for cause, value, share in self._causes():
            lines.append(f"    {cause:<19}{value:>8} s {share:>5} %  {'#' * round(float(share) / 2.5)}".rstrip())
        if self._would_fit():
            lines += ["  what would fit", show.text_table(self._FITTING, self._would_fit())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        causes = self._causes()
        return (show.html_table(self._head(), ("", ""), self._lines()) +
                show.html_table("Where the time goes", ("cause", "s", "%"), causes,
                                bars=[float(row[1]) for row in causes]) +
                (show.html_table("What would fit", self._FITTING, self._would_fit()) if self._would_fit() else ""))


class SearchResult(Answer):
    """The best plans found. The keys are those of docs/formats/search-json.md; ``best`` has the plans, ``best[0].plan``
    the words of the best one."""

    best: List[Any]
    interrupted: bool
    candidates: int

    def __init__(self, json_text: Optional[str] = None, data: Any = None, run: Any = None) -> None:
        super().__init__(json_text, data)
        self._run = run

    def predict(self, i: int = 0) -> Prediction:
        """All of the prediction of one of ``best``."""
        return self._run(self.data["best"][i])

    def to_pandas(self) -> Any:
        """A DataFrame of the best plans: their choices, then their figures."""
        import pandas
        figures = ("gpus", "step_s", "step_low_s", "step_high_s", "tokens_per_s_per_gpu", "mfu", "peak_bytes",
                   "verdict", "fit_probability", "joules", "gpu_hours_per_billion_tokens", "plan")
        return pandas.DataFrame([{**plan["choices"], **{key: plan.get(key) for key in figures}}
                                 for plan in self.data.get("best", [])])

    _TITLES = ("", "step", "80 % interval", "memory", "MFU", "plan")

    def _table(self) -> List[List[str]]:
        return [[str(i), show.seconds(p["step_s"]),
                 f'{show.seconds(p["step_low_s"])} to {show.seconds(p["step_high_s"])}',
                 show.gibibytes(p["peak_bytes"]), f'{100 * p["mfu"]:.1f} %', p["plan"]]
                for i, p in enumerate(self.data.get("best", []))]

    def _head(self) -> str:
        d = self.data
        stopped = ", stopped" if d.get("interrupted") else ""
        return (f'{d.get("model")} on {d.get("cluster")}: {d["candidates"]:,} plans, {d["evaluated"]:,} timed, '
                f'{d["pruned_memory"]:,} do not fit{stopped}')

    def __repr__(self) -> str:
        return self._head() + "\n" + (show.text_table(self._TITLES, self._table()) if self._table() else "  none")

    def _repr_html_(self) -> str:
        return show.html_table(self._head(), self._TITLES, self._table(),
                               bars=[p["step_s"] for p in self.data.get("best", [])])

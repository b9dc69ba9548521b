"""The figures of many plans."""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Dict, Iterator, List, Optional

from . import _library as library, _show as show
from ._columns import Columns, numpy
from ._errors import error_of

VERDICTS = ("fits", "may_not_fit", "does_not_fit")


def _empty(kind: str, count: int) -> Any:
    module = numpy()
    if module is not None:
        return module.empty(count, {"d": "float64", "i": "int32"}[kind])
    return array(kind, bytes(count * array(kind).itemsize))


def _address(values: Any) -> int:
    return values.buffer_info()[0] if isinstance(values, array) else values.ctypes.data


class Scores:
    """The figures of plans, an array each in the order in which the plans were given: numpy's where numpy is
    installed, array.array's elsewhere. Of a plan that no run can have they are NaN, and ``reason(i)`` says why.
    """

    step_s: Any  #: seconds of a step
    step_low_s: Any  #: its 80 % interval
    step_high_s: Any
    needed_bytes: Any  #: on the GPU that needs the most
    fit_probability: Any  #: that these fit
    verdict_code: Any  #: 0 fits, 1 may not fit, 2 does not fit, -1 refused
    refused: Any  #: 1: no run can have the plan

    def __init__(self, run: Any, plans: Any) -> None:
        self._run, self._columns = run, Columns(plans)
        count = self._columns.count
        self._figures = {name: _empty("d", count) for name in
                         ("step_s", "step_low_s", "step_high_s", "needed_bytes", "fit_probability")}
        self.verdict_code, self.refused = _empty("i", count), _empty("i", count)
        self.__dict__.update(self._figures)
        out = library.Scores(*(_address(values) if count else None for values in
                               (*self._figures.values(), self.verdict_code, self.refused)))
        if library.function("run_score_plans")(run.handle.pointer, count, self._columns.columns,
                                               self._columns.size, ctypes.byref(out)) < 0:
            raise library.last_error()

    def __len__(self) -> int:
        return self._columns.count

    def plan(self, i: int) -> Dict[str, Any]:
        """What the plan of this row states."""
        return self._columns.plan(range(len(self))[i])

    def reason(self, i: int) -> Optional[str]:
        """Why no run can have the plan of this row; None where one can."""
        why = ctypes.c_void_p()
        if library.function("run_refusal")(self._run.handle.pointer, len(self), self._columns.columns,
                                           self._columns.size, range(len(self))[i], ctypes.byref(why)) < 0:
            raise library.last_error()
        return error_of(library.taken(why.value)).message if why.value else None

    @property
    def verdict(self) -> List[str]:
        """"fits", "may_not_fit", "does_not_fit" or "refused" for each plan."""
        return [VERDICTS[code] if code >= 0 else "refused" for code in self.verdict_code]

    def order(self, fitting: bool = True) -> List[int]:
        """Rows from the fastest on; of those that fit, or of all that can be run."""
        most = 0 if fitting else 2
        rows = [i for i, code in enumerate(self.verdict_code) if 0 <= code <= most]
        return sorted(rows, key=lambda i: self.step_s[i])

    @property
    def best(self) -> Optional[int]:
        """The row of the fastest plan that fits; None where none does."""
        return next(iter(self.order()), None)

    def predict(self, i: int) -> Any:
        """All of the prediction of one row."""
        return self._run.predict(self.plan(i))

    def rows(self) -> Iterator[Dict[str, Any]]:
        """A dict for each plan: what it states, then its figures."""
        for i, verdict in enumerate(self.verdict):
            yield {**self.plan(i), **{name: float(values[i]) for name, values in self._figures.items()},
                   "verdict": verdict}

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each plan: what it states, then its figures."""
        import pandas
        stated = {key: values for key, values in self._columns.by_key.items()}
        frame = pandas.DataFrame({key: list(values) for key, values in stated.items()},
                                 index=range(len(self)))
        return frame.assign(**self._figures, verdict=self.verdict)

    def _table(self, most: int) -> List[List[str]]:
        rows = self.order() or self.order(fitting=False)
        return [[str(i), show.seconds(self.step_s[i]),
                 f"{show.seconds(self.step_low_s[i])} to {show.seconds(self.step_high_s[i])}",
                 show.gibibytes(self.needed_bytes[i]), VERDICTS[self.verdict_code[i]].replace("_", " "),
                 show.plan_words(self.plan(i))] for i in rows[:most]]

    def _head(self) -> str:
        codes = list(self.verdict_code)
        return (f"{len(self):,} plan{'' if len(self) == 1 else 's'}: {codes.count(0):,} fit, {codes.count(1):,} may not, "
                f"{codes.count(2):,} do not, {codes.count(-1):,} refused")

    _TITLES = ("row", "step", "80 % interval", "memory", "verdict", "plan")

    def __repr__(self) -> str:
        return self._head() + "\n" + show.text_table(self._TITLES, self._table(10))

    def _repr_html_(self) -> str:
        steps = [self.step_s[int(row[0])] for row in self._table(10)]
        return show.html_table(self._head(), self._TITLES, self._table(10), bars=steps)

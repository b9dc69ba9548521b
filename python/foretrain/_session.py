"""Sessions ask the library; the functions of the package ask one that is opened when it is first needed."""
from __future__ import annotations

import json
import os
import sys
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Union, overload

from . import _library as library
from ._answers import Answer, Prediction, SearchResult, Table, Text, wrapped
from ._errors import SearchInterrupted
from ._request import Calibration, Job, Plan, PlannedJob, SearchJob, Spec, Word, content, request
from ._run import Run
from ._scores import Scores

if TYPE_CHECKING:  # what type checkers bring along
    from typing_extensions import Literal, Unpack

#: Told as a search goes on: decided, all, best_s, gap, point, points.
Progress = Callable[[Answer], Any]

_KEPT_RUNS = 8


class Session:
    """Where the names of requests lead, and what is worth keeping from one question to the next.

    presets: a folder laid out like presets/ of the project, looked in before what is built in.
    files: whether names that are paths may be opened.

    A session may be used by several threads at once.
    """

    def __init__(self, presets: Optional[str] = None, files: bool = True) -> None:
        options: "dict[str, Any]" = {"files": files}
        if presets:
            options["presets"] = presets
        self._handle = library.Handle(library.function("session_open")(json.dumps(options).encode()),
                                      "session_close")
        self._answer = library.function("answer")
        self._files, self._presets = files, presets
        self._runs: "OrderedDict[bytes, Run]" = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, verb: str, **words: Any) -> str:
        """The JSON that answers a request of docs/formats/api.md; the other methods are made of it."""
        return library.taken(self._answer(self._handle.pointer, verb.encode(), request(self._files, **words)))

    def predict(self, model: Optional[Spec] = None, *, cluster: Optional[Spec] = None, gpus: Optional[Word] = None,
                plan: Optional[Plan] = None, global_batch: Optional[Word] = None, seq: Optional[Word] = None,
                stack: Optional[Spec] = None, documents: Optional[Word] = None, task: Optional[str] = None,
                profile: Optional[str] = None, tokens: Optional[Word] = None, run: Any = None,
                calibration: Optional[Calibration] = None) -> Prediction:
        """Predicts the step of one run: its seconds, memory, and where the time goes.

        model: a name (``foretrain.list("models")``), a Model, the path of a config.json or of its folder, or its
            content as a dict.
        cluster, stack: names, paths of files, or what these would hold as a dict.
        gpus: in all. global_batch: sequences a step, or tokens ("4096ktok"). seq: tokens a sequence.
        plan: {"tp": 4, "pp": 2, "zero": 1} or "tp=4,pp=2,zero=1" (docs/formats/plan.md).
        tokens: also what training on so many costs (``training`` of the answer).
        run: a RUN.yaml, or what a framework is launched with, as a path, a text or a dict. The other arguments add to
            it or override it.
        calibration: what measurements of this cluster taught: a folder of foretrain calibrate, or the text of its
            calibration.yaml (docs/calibrate.md).

        >>> foretrain.predict("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512, plan={"tp": 2}).step_s
        """
        return Prediction(self.answer("predict", model=model, cluster=cluster, gpus=gpus, plan=plan,
                                      global_batch=global_batch, seq=seq, stack=stack, documents=documents,
                                      task=task, profile=profile, tokens=tokens, run=run,
                                      calibration=calibration))

    def run(self, model: Optional[Spec] = None, **words: Unpack[PlannedJob]) -> Run:
        """One model, cluster, stack, batch and number of GPUs, to be asked about plan after plan: arguments as of
        predict. The plan is where others start from."""
        text = request(self._files, model=model, **words)
        named = (model, words.get("cluster"), words.get("stack"))
        if words.get("run") is not None or self._presets or any(map(_is_file, named)):  # of files, which may change
            return Run(library.function("run_open")(self._handle.pointer, text))
        with self._lock:
            known = self._runs.get(text)
            if known is not None:
                self._runs.move_to_end(text)
                return known
        opened = Run(library.function("run_open")(self._handle.pointer, text))
        with self._lock:
            self._runs[text] = opened
            while len(self._runs) > _KEPT_RUNS:
                self._runs.popitem(last=False)
        return opened

    def score(self, plans: Any, model: Optional[Spec] = None, **words: Unpack[PlannedJob]) -> Scores:
        """The figures of many plans of one run, at the library's speed.

        plans: a list of dicts or of words ("tp=4,pp=2"), a dict of columns, or a DataFrame, whose columns are keys of
            plans (docs/formats/plan.md); a value that is missing is as ``plan`` says.
        The other arguments are those of predict.

        >>> foretrain.score({"tp": [1, 2, 4]}, "llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512).step_s
        """
        return self.run(model, **words).score(plans)

    def search(self, model: Optional[Spec] = None, *, progress: Union[Progress, bool, None] = None,
               **words: Unpack[SearchJob]) -> SearchResult:
        """The best plans of all that are legal.

        Arguments as of predict, without a plan; besides set, range, forbid (["tp=8", "zero=1,2"] or {"tp": 8, "zero": [1, 2]}),
        headroom, objective, top, tokens, deadline, budget, why, what_if, threads, time ("5s"), launch, calibration
        (docs/search.md).
        progress: called about ten times a second with an object that has decided, all, best_s and gap; True: a line on
            stderr.

        Ctrl-C ends the search and raises SearchInterrupted, whose ``result`` has the best plans so far.
        """
        given: "dict[str, Any]" = {**words, "model": model}
        handle = library.Handle(library.function("search_start")(self._handle.pointer, request(self._files, **given)),
                                "search_close")
        line = _Line() if progress is True else None
        tell = line or (progress if callable(progress) else None)
        wait, now = library.function("search_wait"), library.function("search_progress")
        try:
            while wait(handle.pointer, 0.1) == 0:
                if tell:
                    tell(Answer(library.taken(now(handle.pointer))))
        except KeyboardInterrupt:
            library.function("search_cancel")(handle.pointer)
            raise SearchInterrupted(self._result(handle, given)) from None
        except BaseException:  # of progress: nobody waits for the search any more
            library.function("search_cancel")(handle.pointer)
            raise
        finally:
            if line:
                line.end()
        return self._result(handle, given)

    def _result(self, handle: library.Handle, given: "dict[str, Any]") -> SearchResult:
        again = {key: given.get(key) for key in ("model", "cluster", "stack", "documents", "profile", "task", "run",
                                                "calibration")}

        def predict(best: "dict[str, Any]") -> Prediction:
            told = result.data
            return self.predict(**again, gpus=best["gpus"], plan=best["plan"], seq=told["seq"],
                                global_batch=told["global_batch"])

        result = SearchResult(library.taken(library.function("search_answer")(handle.pointer)), run=predict)
        return result

    def over(self, over: str, model: Optional[Spec] = None, *, calibration: Optional[Calibration] = None,
             **words: Unpack[PlannedJob]) -> Answer:
        """One run over the values of one or two keys: over="inter_gbps=100..3200,seq=1k..8k" (docs/over.md)."""
        return Answer(self.answer("over", over=over, model=model, calibration=calibration, **words))

    def accuracy(self, model: Optional[Spec] = None, **words: Unpack[PlannedJob]) -> Answer:
        """How far to trust a prediction: what those of published runs with the same GPU, stack and kind were off by.
        Arguments as of predict (docs/accuracy.md)."""
        return Answer(self.answer("accuracy", model=model, **words))

    def compare(self, runs: Iterable[Any], *, calibration: Optional[Calibration] = None,
                **words: Unpack[PlannedJob]) -> List[Prediction]:
        """Several runs, each as ``run`` of predict, and with its other arguments."""
        return [Prediction(data=one)
                for one in json.loads(self.answer("compare", runs=[*runs], calibration=calibration, **words))]

    @overload
    def convert(self, run: Any, to: str = "run", *, text: Literal[False] = False, **words: Any) -> Answer: ...

    @overload
    def convert(self, run: Any, to: str = "run", *, text: Literal[True], **words: Any) -> Text: ...

    def convert(self, run: Any, to: str = "run", *, text: bool = False, **words: Any) -> Union[Answer, Text]:
        """What a framework is launched with, as it is understood; or a run as another framework is launched with it
        (to="megatron", ...). With text=True the RUN.yaml or script alone."""
        answer = self.answer("convert", run=run, to=to, json=not text, **words)
        return Text(json.loads(answer)["text"]) if text else Answer(answer)

    def list(self, kind: str) -> Table:
        """The names of "models", "gpus", "clusters", "stacks", "recipes", "schedules" or "profiles", with what is
        behind them."""
        return Table(json.loads(self.answer("list", kind=kind))[kind])

    @overload
    def show(self, kind: str, name: Any, *, text: Literal[False] = False) -> Answer: ...

    @overload
    def show(self, kind: str, name: Any, *, text: Literal[True]) -> Text: ...

    def show(self, kind: str, name: Any, *, text: bool = False) -> Union[Answer, Text]:
        """What stands behind the name of a "model", "gpu", "cluster", "stack" or "recipe"; with text=True its file, with
        the origin of each figure in comments."""
        answer = self.answer("show", kind=kind, name=name, json=not text)
        return Text(json.loads(answer)["text"]) if text else Answer(answer)

    def cost(self, words: Union[str, Iterable[str], None] = None, **more: Any) -> Answer:
        """What one operator takes: cost("linear m=8192 k=4096 n=4096", gpu="h100-80gb-sxm", impl="aten")."""
        if "samples" in more:
            more["samples"] = content(more["samples"], self._files)
        return Answer(self.answer("cost", words=words, **more))

    def validate(self, tables: Any, **words: Any) -> Answer:
        """Predictions against tables of measured runs (paths or texts; docs/formats/measured-runs.md): profile, against,
        by, rows=True, check=True, baseline, calibration."""
        if "baseline" in words:
            words["baseline"] = content(words["baseline"], self._files)
        return Answer(self.answer("validate", tables=_contents(tables, self._files), **words))

    def diagnose(self, measured: Any, **words: Unpack[PlannedJob]) -> Answer:
        """Is a run as fast as it should be: its log, or a trace of PyTorch's profiler (a path or a text), and of what run
        it was, as arguments of predict (docs/diagnose.md)."""
        return Answer(self.answer("diagnose", measured=content(measured, self._files), **words))

    def import_(self, format: str, logs: Any, **words: Any) -> Any:
        """What others measured ("log", "kineto", "topo", "nccl-tests", "operator-tables"), from paths or texts."""
        return wrapped(json.loads(self.answer("import", format=format, logs=_contents(logs, self._files), **words)))


def _contents(given: Any, files: bool) -> Any:
    one = isinstance(given, (str, dict)) or hasattr(given, "__fspath__")
    return [content(file, files) for file in ([given] if one else given)]


def _is_file(word: Any) -> bool:
    word = word._as_request() if hasattr(word, "_as_request") else word
    return isinstance(word, os.PathLike) or (isinstance(word, str) and os.path.exists(word))


class _Line:
    """A line on stderr, drawn over itself; what is written after it stands on the next."""

    def __init__(self) -> None:
        self._drawn = ""

    def __call__(self, progress: Answer) -> None:
        if not progress.all:
            return
        best = f", best {progress.best_s:.4g} s" if progress.best_s else ""
        text = f"{100 * progress.decided / progress.all:5.1f} % of {progress.all:,} plans{best}"
        if text != self._drawn:
            sys.stderr.write("\r" + text.ljust(len(self._drawn)))
            sys.stderr.flush()
        self._drawn = text

    def end(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()


_default: Optional[Session] = None
_default_lock = threading.Lock()


def default_session() -> Session:
    """The session of the package's functions."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Session()
        return _default

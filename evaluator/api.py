"""The Python API: `evaluate` and `ask` do what `score run` and `score ask` do, and return an
`Evaluation`."""

import html
import inspect
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import describe_training, mark_of
from evaluator.report.overview import read_lines, side_by_side
from evaluator.report.table import confidence, plain
from evaluator.report.verdict import Verdict, headline, judge
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import in_folder, open_run
from evaluator.runs.measure import measure_protocols
from evaluator.runs.parts import describe_limit
from evaluator.runs.request import AskOptions, AskRequest, Request, RunOptions
from evaluator.runs.tables import COLUMNS, item_rows
from generator.base.errors import UserError, did_you_mean
from generator.base.extras import extras_named
from generator.base.pages import image_row
from generator.base.progress import AutoBar, Callback, Progress

if TYPE_CHECKING:
    import altair

_IMAGES = 4
"""Images that a notebook shows."""
Options = TypeVar("Options")
Parameters = ParamSpec("Parameters")
OnProgress = Callable[[str, int, int | None], object]
"""Called after each batch with the name of the work, how much is done, and the total; None if it is
unknown."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of a model on a dataset. Notebooks show its table, a chart of the gap, and images
    of failures."""

    folder: Path
    """The run's folder, which `score report` and `score compare` read."""
    results: Results
    """The contents of its results.json; empty in processes other than the main one."""

    @property
    def verdict(self) -> Verdict:
        """Whether the model composes: a kind of a closed list, and a sentence."""
        # Verdicts read pooled results; those of one run have one entry.
        return judge(pool_runs([self.results])[0])

    def to_pandas(self) -> pd.DataFrame:
        """The long table of results (evaluator.protocols.records.Row): a row for each metric, group
        of items and split or gap."""
        return pd.DataFrame(self.results["rows"])

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row for each question with its words, all candidates, scores and margin
        (evaluator.runs.tables)."""
        run = open_run(self.folder)
        return pd.DataFrame(item_rows(run, measure_protocols(run)), columns=list(COLUMNS))

    def table(self, protocol: str | None = None) -> pd.DataFrame:
        """The table that `score run` prints.

        Args:
            protocol: the protocol of the rows; None for all.

        Returns:
            A row for each metric and group of items. All columns are strings.

        Raises:
            UserError: the protocol was not measured.
        """
        protocols = [str(row["protocol"]) for row in self.results["rows"]]
        known = list(dict.fromkeys(protocols))
        if protocol is not None and protocol not in known:
            raise UserError(
                f"The evaluation has no protocol '{protocol}'; {did_you_mean(protocol, known)}"
            )
        entries = pool_runs([self.results])
        lines = read_lines(entries, lambda row: protocol in (None, row["protocol"]))
        table = side_by_side(entries, lines)
        # Reasons of empty cells are written as letters, as under the printed table.
        letters = table.letters()
        rows = []
        for line in table.lines:
            cells = [f"{plain(cell, letters)} {cell.interval}".strip() for cell in line.cells]
            rows.append([*line.labels, *cells])
        heads = [column.head for column in table.columns]
        return pd.DataFrame(rows, columns=[*table.labels, *heads])

    def figure(self, name: str = "gap") -> "altair.ConcatChart":
        """A figure of the page (evaluator.report.figures) as a chart.

        Args:
            name: such as `gap`, `gaps` or `split-binary`.

        Returns:
            The chart.

        Raises:
            UserError: the results have no numbers for the figure.
        """
        from evaluator.report.figures import figures

        figure_of_name = {figure.name: figure for figure in figures(pool_runs([self.results]))}
        if name not in figure_of_name:
            raise UserError(
                f"The evaluation has no figure '{name}'; {did_you_mean(name, list(figure_of_name))}"
            )
        return figure_of_name[name].chart()

    def __repr__(self) -> str:
        if not self.results:
            return "<Evaluation of another process>"
        return "\n".join([*self._headlines, self.table().to_string(index=False)])

    def _repr_html_(self) -> str:
        from evaluator.report.figures import gap

        if not self.results:
            return html.escape(repr(self))
        headlines = "".join(f"<p>{html.escape(line)}</p>" for line in self._headlines)
        figures_of_gap = gap(pool_runs([self.results]))
        charts = "".join(figure.svg() for figure in figures_of_gap)
        return headlines + self.table().to_html(index=False) + charts + self._failures()

    def _failures(self) -> str:
        """HTML with a row of wrongly answered images, each with the false text that won; "" if
        there are none."""
        from evaluator.report.gallery import failures

        images = failures(open_run(self.folder), _IMAGES)
        if not images:
            return ""
        return f"<p>Wrong, with the false text that won:</p>{image_row(images)}"

    @property
    def _headlines(self) -> list[str]:
        """The lines above the table, the verdict first."""
        results = self.results
        lines = [headline(pool_runs([results]))]
        if results["held_out"]:
            lines.append(f"Held out of training: {results['held_out']}.")
        lines.append(
            f"{results['model']} on {results['benchmark']} (dataset {results['certificate']}), "
            f"{confidence(results)} intervals"
        )
        limit = results.get("limit")
        if limit:
            lines += describe_limit(limit)
        lines.append(mark_of(results) or describe_training(results))
        return lines


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(RunOptions):
    """The options of `evaluate`: those of `score run`, and `progress`."""

    progress: Progress | OnProgress | None = None
    """Shows progress; None for a bar in notebooks and terminals (on stderr)."""


@dataclass(frozen=True, kw_only=True)
class AskingOptions(AskOptions, EvaluateOptions):
    """The options of `ask`: those of `score ask`, and `progress`."""


def _takes_options(
    options_class: Callable[Parameters, Options],
) -> Callable[
    [Callable[[Any, Dataset | str | Path, Options], Evaluation]],
    Callable[Concatenate[Any, Dataset | str | Path, Parameters], Evaluation],
]:
    """Decorator: the fields of a dataclass become keyword parameters, with their types and
    defaults.

    Args:
        options_class: the dataclass; the decorated function takes an instance as third argument.
    """

    def decorate(
        function: Callable[[Any, Dataset | str | Path, Options], Evaluation],
    ) -> Callable[Concatenate[Any, Dataset | str | Path, Parameters], Evaluation]:
        @wraps(function)
        def call(
            model: Any,
            dataset: Dataset | str | Path,
            *args: Parameters.args,
            **kwargs: Parameters.kwargs,
        ) -> Evaluation:
            return function(model, dataset, options_class(*args, **kwargs))

        # `help` and editors show (model, dataset, *, limit, device, …) in place of `options`.
        of_function = inspect.signature(function)
        model_and_dataset = list(of_function.parameters.values())[:2]
        keywords = inspect.signature(options_class).parameters.values()
        vars(call)["__signature__"] = of_function.replace(
            parameters=[*model_and_dataset, *keywords]
        )
        return call

    return decorate


@extras_named()
@_takes_options(EvaluateOptions)
def evaluate(model: Any, dataset: Dataset | str | Path, options: EvaluateOptions) -> Evaluation:
    """Score a model on the questions of a dataset.

    Of several processes (torchrun), only the first has results.

    Args:
        model: a spec such as `open_clip:ViT-B-32@openai`, or your own object
            (evaluator.models.python). An object is put in evaluation mode while it is scored,
            stays on its device, and is called `name`.
        dataset: a `Dataset`, the folder of a dataset with a single benchmark, or a published
            benchmark such as `sugarcrepe:FOLDER`.
        options: keywords, the fields of `EvaluateOptions`. With `out`, a stopped evaluation
            resumes and `score report` reads the run; without it, the run is in a temporary folder,
            which is deleted with the returned object.

    Returns:
        The results, and the folder of the run.

    Raises:
        UserError: the request cannot be met, or the model's methods return an unexpected shape or
            type.

    Example:
        `print(evaluate("open_clip:ViT-B-32@openai", "small", protocols="binary", limit=20))`
    """
    from evaluator.runs.run import run

    request = Request(model=model, dataset=dataset, **_values_of(options))
    return _evaluated(run, request, options.progress)


@extras_named()
@_takes_options(AskingOptions)
def ask(model: Any, dataset: Dataset | str | Path, options: AskingOptions) -> Evaluation:
    """Ask a model the questions of a dataset in words, as `evaluate` scores one.

    Args:
        model: a spec of vqa:, api: or python:, an object with a method answer(images, question), or
            (model, processor) of transformers.
        dataset: as for `evaluate`.
        options: keywords, the fields of `AskingOptions`.

    Returns:
        The results, and the folder of the run.

    Raises:
        UserError: the request cannot be met, or the model stops answering.

    Example:
        `print(ask("vqa:Qwen/Qwen3-VL-4B-Instruct", "small", samples=5, temperature=0.7))`
    """
    from evaluator.runs.ask import ask as run

    request = AskRequest(model=model, dataset=dataset, **_values_of(options))
    return _evaluated(run, request, options.progress)


def _values_of(options: EvaluateOptions) -> dict[str, Any]:
    """The options of a request by name."""
    names = [field.name for field in fields(options) if field.name != "progress"]
    return {name: getattr(options, name) for name in names}


def pool(evaluations: Sequence[Evaluation]) -> list[Results]:
    """One result from the evaluations of several turns, blocks and trainings, as `score report`
    makes it from their folders.

    Args:
        evaluations: of one model or of several. Their folders must still be there; without `out`
            a folder lives as long as its evaluation.

    Returns:
        An entry for each model, treatment and design, shaped like the results of a run, with
        intervals from one analysis of the items of all runs (docs/statistics.md).

    Example:
        `pool([evaluate(model, dataset) for dataset in datasets])[0]["rows"]`
    """
    return pool_runs([in_folder(one.results, one.folder) for one in evaluations])


def _evaluated(
    run: Callable[..., Results | None], request: Request, progress: Progress | OnProgress | None
) -> Evaluation:
    """Run a request in its folder, or in a temporary folder that goes with the evaluation."""
    from evaluator.models.python import evaluating
    from evaluator.report.files import write_latex
    from evaluator.scoring.store import Process

    # Each process would make a temporary folder of its own, but scores are shared through one.
    count = Process.from_environment().count
    if request.out is None and count > 1:
        raise UserError(
            f"Expected `out`, the folder that the {count} processes of this run share; give the "
            f"same folder to each."
        )
    is_temporary = request.out is None
    if request.out is None:
        folder = Path(tempfile.mkdtemp(prefix="evaluate-"))
    else:
        folder = Path(request.out)
    try:
        with evaluating(request.model):
            results = run(request, folder, _progress_of(progress))
        if results is not None:
            write_latex(results, folder)
    # Also after Ctrl-C: nobody knows the name of a temporary folder, so nobody would remove it.
    except BaseException:
        if is_temporary:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    evaluation = Evaluation(folder, results or {})
    if is_temporary:
        # With the object, since `items`, failures and `pool` read the folder as long as it lives.
        weakref.finalize(evaluation, shutil.rmtree, folder, ignore_errors=True)
    return evaluation


def _progress_of(progress: Progress | OnProgress | None) -> Progress:
    if progress is None:
        return AutoBar()
    if isinstance(progress, Progress):
        return progress
    return Callback(progress)

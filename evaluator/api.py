"""The Python API: `evaluate` and `ask` do what `score run` and `score ask` do, and return an
`Evaluation`."""

import html
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import mark_of, training_said
from evaluator.report.overview import read_lines, side_by_side
from evaluator.report.table import confidence, plain
from evaluator.report.verdict import Verdict, headline, judge
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import in_folder, open_run
from evaluator.runs.measure import measure_protocols
from evaluator.runs.parts import limit_said
from evaluator.runs.request import AskRequest, Request
from evaluator.runs.tables import COLUMNS, item_rows
from generator.base.errors import UserError, did_you_mean
from generator.base.extras import extras_named
from generator.base.pages import image_row
from generator.base.progress import AutoBar, Callback, Progress

if TYPE_CHECKING:
    import altair

_IMAGES = 4
"""Images that a notebook shows."""


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
            protocol: The protocol; None for all.

        Returns:
            A DataFrame of strings.

        Raises:
            UserError: The protocol was not measured.
        """
        known = list(dict.fromkeys(str(row["protocol"]) for row in self.results["rows"]))
        if protocol not in (None, *known):
            raise UserError(
                f"The evaluation has no protocol '{protocol}'; {did_you_mean(str(protocol), known)}"
            )
        entries = pool_runs([self.results])
        table = side_by_side(
            entries, read_lines(entries, lambda row: protocol in (None, row["protocol"]))
        )
        letters = table.letters()
        rows = [
            [
                *line.labels,
                *(f"{plain(cell, letters)} {cell.interval}".strip() for cell in line.cells),
            ]
            for line in table.lines
        ]
        return pd.DataFrame(
            rows, columns=[*table.labels, *(column.head for column in table.columns)]
        )

    def figure(self, name: str = "gap") -> "altair.ConcatChart":
        """A figure of the page (evaluator.report.figures) as an Altair chart.

        Args:
            name: The name of the figure: `gap`, `gaps`, `split-binary` and so on.

        Raises:
            UserError: The results have no numbers for the figure.
        """
        from evaluator.report.figures import figures

        by_name = {figure.name: figure for figure in figures(pool_runs([self.results]))}
        if name not in by_name:
            raise UserError(
                f"The evaluation has no figure '{name}'; {did_you_mean(name, list(by_name))}"
            )
        return by_name[name].chart()

    def __repr__(self) -> str:
        if not self.results:
            return "<Evaluation of another process>"
        return "\n".join([*self._lines, self.table().to_string(index=False)])

    def _repr_html_(self) -> str:
        from evaluator.report.figures import gap

        if not self.results:
            return html.escape(repr(self))
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self._lines)
        charts = "".join(figure.svg() for figure in gap(pool_runs([self.results])))
        return lines + self.table().to_html(index=False) + charts + self._failures()

    def _failures(self) -> str:
        """HTML with a row of wrongly answered images, each with the false text that won; "" if
        there are none."""
        from evaluator.report.gallery import failures

        run = open_run(self.folder)
        images = failures(run, _IMAGES)
        if not images:
            return ""
        return f"<p>Wrong, with the false text that won:</p>{image_row(images)}"

    @property
    def _lines(self) -> list[str]:
        """The lines above the table, the verdict first."""
        results = self.results
        verdict = headline(pool_runs([results]))
        held_out = f"Held out of training: {results['held_out']}." if results["held_out"] else ""
        head = (
            f"{results['model']} on {results['benchmark']} (dataset {results['certificate']}), "
            f"{confidence(results)} intervals"
        )
        limit = results.get("limit")
        return [
            verdict,
            *filter(None, [held_out]),
            head,
            *(limit_said(limit) if limit else ()),
            mark_of(results) or training_said(results),
        ]


@extras_named()
def evaluate(
    model: Any,
    dataset: Dataset | str | Path,
    *,
    progress: Progress | Callable[[str, int, int | None], object] | None = None,
    **options: Any,
) -> Evaluation:
    """Score a model on the questions of a dataset. Notebooks and terminals (on stderr) show a
    progress bar.

    With several processes (torchrun) only the first has results.

    Args:
        model: A spec such as `open_clip:ViT-B-32@openai`, or your own object (see
            evaluator.models.python). An object is put in evaluation mode while it is scored, stays
            on its device, and is called `name`.
        dataset: A `Dataset`, the folder of a dataset with a single benchmark, or a published
            benchmark such as `sugarcrepe:FOLDER`.
        progress: Called with (what, done, total) after each batch, or a Progress
            (generator.base.progress). By default a bar.
        options: The other fields of evaluator.runs.request.Request, which are the options of
            `score run`: protocols, limit, within, splits, out, name, batch_size, device,
            precision, workers, channel, level, full_pools, verify, allow_contaminated. With `out`,
            a stopped evaluation resumes and `score report` reads the run; without it, the run is in
            a temporary folder, which is deleted with the returned object.

    Returns:
        The results, and the folder of the run.

    Raises:
        UserError: The request cannot be met, or the model's methods return an unexpected shape or
            type.

    Example:
        `evaluate("open_clip:ViT-B-32@openai", "small").table("binary")`
    """
    from evaluator.runs.run import run

    return _evaluated(run, Request(model=model, dataset=dataset, **options), progress)


@extras_named()
def ask(
    model: Any,
    dataset: Dataset | str | Path,
    *,
    progress: Progress | Callable[[str, int, int | None], object] | None = None,
    **options: Any,
) -> Evaluation:
    """Ask a model the questions of a dataset in words, as `evaluate` scores one.

    Args:
        model: A spec of vqa:, api: or python:, an object with a method answer(images, question),
            or (model, processor) of transformers.
        dataset: As for `evaluate`.
        progress: As for `evaluate`.
        options: The fields of evaluator.runs.request.AskRequest, which are the options of
            `score ask`.

    Returns:
        The results, and the folder of the run.

    Raises:
        UserError: The request cannot be met, or the model stops answering.

    Example:
        `ask("vqa:Qwen/Qwen3-VL-4B-Instruct", "small", limit=50).verdict`
    """
    from evaluator.runs.ask import ask as run

    return _evaluated(run, AskRequest(model=model, dataset=dataset, **options), progress)


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


def _evaluated(run: Callable[..., Results | None], request: Request, progress: Any) -> Evaluation:
    """Run a request; returns its evaluation. run: runs.run.run or runs.ask.ask."""
    from evaluator.models.python import evaluating
    from evaluator.report.files import write_latex
    from evaluator.scoring.store import Process

    if request.out is None and (count := Process.from_environment().count) > 1:
        raise UserError(
            f"Expected `out`, the folder that the {count} processes of this run share; give the "
            f"same folder to each."
        )
    folder = (
        Path(tempfile.mkdtemp(prefix="evaluate-")) if request.out is None else Path(request.out)
    )
    try:
        progress = AutoBar() if progress is None else progress
        with evaluating(request.model):
            results = run(
                request, folder, progress if isinstance(progress, Progress) else Callback(progress)
            )
    except BaseException:
        if request.out is None:
            shutil.rmtree(folder)
        raise
    if results is not None:
        write_latex(results, folder)
    evaluation = Evaluation(folder, results or {})
    if request.out is None:
        # The temporary folder goes when nothing uses the evaluation any more.
        weakref.finalize(evaluation, shutil.rmtree, folder, ignore_errors=True)
    return evaluation

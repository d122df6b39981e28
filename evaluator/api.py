"""`evaluate`: scores a model on a dataset, as `score run` does, from Python."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.report.evaluation import Evaluation
from evaluator.runs.dataset import Dataset
from generator.base.errors import UserError
from generator.base.extras import extras_named
from generator.base.progress import SILENT, Callback, Progress


@extras_named()
def evaluate(
    model: Any, dataset: Dataset | str | Path, *, protocols: str | Sequence[str] = (), limit: int | None = None,
    batch_size: int | None = None, out: str | Path | None = None, name: str | None = None, device: str | None = None,
    precision: str = "auto", workers: int | None = None, channel: str | None = None, level: float | None = None,
    full_pools: bool = False, verify: bool = False, allow_contaminated: bool = False, model_args: Mapping[str, Any] | None = None,
    splits: str | Path | None = None, within: str | Sequence[str] = (),
    progress: Progress | Callable[[str, int, int | None], object] = SILENT,
) -> Evaluation:  # fmt: skip
    """Score a model on the questions of a dataset; nothing is printed.

    model: a spec such as `open_clip:ViT-B-32@openai`, or an object of yours (evaluator.models.in_memory says which). An object is
    put in evaluation mode while it is scored, stays on its device, and is called `name`.
    dataset: a `Dataset`, the folder of one with a single benchmark, or a benchmark of others such as `sugarcrepe:FOLDER`. protocols: those to score; by default those of the dataset.
    limit: at most so many questions of each protocol (evaluator.runs.limit); the results say so. within: the splits to score; by default all. splits: a folder of `score familiarity` (evaluator.runs.partitions).
    batch_size: images, texts or pairs at once; by default as memory allows. out: the folder of the run, for `score report` and so that
    a stopped evaluation continues; by default a temporary one, which goes with the returned object. device, model_args: for a spec
    (docs/models.md).
    The other arguments are those of `score run`. progress: called with (what, done, total) after each
    batch, or a Progress (generator.base.progress).

    Raises UserError for a request that cannot be met, and for what the model's methods return in another shape or type than is
    expected. Of several processes (torchrun) only the first has results.
    """
    from evaluator.report.latex import write_latex
    from evaluator.runs.run import Request, run
    from evaluator.scoring.distributed import Process

    if out is None and (count := Process.from_environment().count) > 1:
        raise UserError(
            f"Expected `out`, the folder that the {count} processes of this run share; give the same to each."
        )
    chosen = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    asked, chosen_splits = ((each,) if isinstance(each, str) else tuple(each) for each in (protocols, within))
    folder = Path(tempfile.mkdtemp(prefix="evaluate-")) if out is None else Path(out)
    try:
        request = Request(
            chosen, None, model, asked or chosen.protocols, folder, batch_size, device, precision, workers,
            channel, full_pools, verify, allow_contaminated, level, limit, name, model_args or {}, None if splits is None else Path(splits),
            chosen_splits,
        )  # fmt: skip
        folder, results = run(request, progress if isinstance(progress, Progress) else Callback(progress))
    except BaseException:
        if out is None:
            shutil.rmtree(folder)
        raise
    if results is not None:
        write_latex(results, folder)
    found = Evaluation(folder, results or {})
    if out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found

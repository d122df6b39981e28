"""`evaluate`: scores a model on a dataset, as `score run` does, from Python."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.report.evaluation import Evaluation
from evaluator.runs.dataset import Dataset
from evaluator.runs.request import Request
from generator.base.errors import UserError
from generator.base.extras import extras_named
from generator.base.progress import SILENT, Callback, Progress


@extras_named()
def evaluate(
    model: Any,
    dataset: Dataset | str | Path,
    *,
    progress: Progress | Callable[[str, int, int | None], object] = SILENT,
    **options: Any,
) -> Evaluation:
    """Score a model on the questions of a dataset; nothing is printed.

    model: a spec such as `open_clip:ViT-B-32@openai`, or an object of yours (evaluator.models.python says which). An
    object is put in evaluation mode while it is scored, stays on its device, and is called `name`.
    dataset: a `Dataset`, the folder of one with a single benchmark, or a benchmark of others such as
    `sugarcrepe:FOLDER`. progress: called with (what, done, total) after each batch, or a Progress
    (generator.base.progress). options: the other fields of evaluator.runs.request.Request, which are the options of
    `score run`: protocols, limit, within, splits, out, name, batch_size, device, precision, workers, channel, level,
    full_pools, verify, allow_contaminated. With `out`, a stopped evaluation continues and `score report`
    reads the run; without it, the run is in a temporary folder, which is removed with the returned object.

    Raises UserError for a request that cannot be met, and for what the model's methods return in another shape or type
    than is expected. Of several processes (torchrun) only the first has results.
    """
    from evaluator.report.files import write_latex
    from evaluator.runs.run import run
    from evaluator.scoring.store import Process

    request = Request(model=model, dataset=dataset, **options)
    if request.out is None and (count := Process.from_environment().count) > 1:
        raise UserError(
            f"Expected `out`, the folder that the {count} processes of this run share; give the same to each."
        )
    folder = Path(tempfile.mkdtemp(prefix="evaluate-")) if request.out is None else Path(request.out)
    try:
        results = run(request, folder, progress if isinstance(progress, Progress) else Callback(progress))
    except BaseException:
        if request.out is None:
            shutil.rmtree(folder)
        raise
    if results is not None:
        write_latex(results, folder)
    found = Evaluation(folder, results or {})
    if request.out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found

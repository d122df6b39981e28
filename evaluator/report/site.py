"""Write a static site that compares models on one benchmark, from runs, which others may have
sent."""

import json
from collections.abc import Sequence
from pathlib import Path

from evaluator.analysis.pooling import differences, pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.figures import figures
from evaluator.report.files import write_pooled
from evaluator.report.page import render
from evaluator.runs.folder import folder_name, named_results, open_run
from evaluator.runs.measure import recompute
from generator.base.errors import UserError, visible
from generator.base.files import write_text
from generator.base.paths import split_name
from generator.dataset.reader import found_certificate

_HOME = "index.html"
_CLAIMED = " (claimed by the sender of the run)"


def read_results_of(source: str, moved: Sequence[Path] = ()) -> Results:
    """The results of the run in [NAME=]FOLDER, computed from its scores; NAME replaces the model's
    name.

    What only the sender of a run can know, such as the model's training, is marked as claimed.

    Args:
        source: the folder of a run, with a name or without one.
        moved: folders of datasets that were moved, as in `open_run`.

    Raises: UserError: there is no run, or the benchmark that it names is not there. A results.json
        is refused: anyone can write one, and its numbers cannot be checked without the scores.
    """
    name, path = split_name(source)
    if path.is_file():
        raise UserError(
            f"{path} is a file, whose numbers cannot be checked; give the folder of the run, with "
            f"its scores."
        )
    run = open_run(path, moved)
    results = recompute(run)
    certificate = (
        "not verified" if run.world is None else found_certificate(run.benchmark, run.world)
    )
    training = {**results["training"], "said": f"{results['training']['said']}{_CLAIMED}"}
    return named_results({**results, "certificate": certificate, "training": training}, name)


def _check_same_content(sources: Sequence[str], results: Sequence[Results]) -> None:
    """Raise UserError if two runs claim to be the same and differ, or if benchmarks of one block
    differ.

    Otherwise the run that is given first would silently stand for both.
    """
    first_of_run: dict[str, int] = {}
    first_of_block: dict[str | None, int] = {}
    for place, one in enumerate(results):
        factors = one["factors"]
        same_block = first_of_block.setdefault(factors["block"], place)
        if results[same_block]["factors"]["benchmark"] != factors["benchmark"]:
            raise UserError(
                f"{sources[same_block]} and {sources[place]} were scored on different benchmarks "
                f"of the same held-out "
                "block; write a separate site for each."
            )
        named = {key: factors[key] for key in ("model", "treatment", "training_seed", "benchmark")}
        same_run = first_of_run.setdefault(json.dumps(named, sort_keys=True), place)
        if results[same_run]["rows"] != one["rows"]:
            raise UserError(
                f"{sources[same_run]} and {sources[place]} say that they are the same run of "
                f"{one['model']}, and have "
                "different scores; leave one out, or name them NAME=FOLDER."
            )


def write_site(sources: Sequence[str], out: Path, moved: Sequence[Path] = ()) -> list[Path]:
    """Write index.html with all models, and a page for each model, into the folder `out`; returns
    the pages.

    Runs of one model are pooled. Raises UserError for results of several benchmarks, for runs that
    claim to be the same and differ, and as `read_results_of`.
    """
    results = [read_results_of(source, moved) for source in sources]
    _check_same_content(sources, results)
    entries = [{**each, "model": visible(each["model"])} for each in pool_runs(results)]
    if other := differences(entries):
        raise UserError(
            f"Expected results of one benchmark. {other[0]} Write a separate site for each "
            f"benchmark."
        )
    links = {
        marked(each["model"], each): f"{i + 1}-{folder_name(each['model'])}.html"
        for i, each in enumerate(entries)
    }
    named = [{**each, "model": model} for each, model in zip(entries, links, strict=True)]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / _HOME, render(named, figures(entries), links))
    write_pooled(entries, out / _HOME)
    for entry, raw in zip(named, entries, strict=True):
        write_text(out / links[entry["model"]], render([entry], figures([raw]), home=_HOME))
    return [out / _HOME, *(out / name for name in links.values())]

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
from generator.dataset.certificate import describe_certificate

_HOME = "index.html"
_CLAIMED = " (claimed by the sender of the run)"
"""Stands behind what cannot be computed from a run."""
_IDENTITY = ("model", "treatment", "training_seed", "benchmark")
"""The factors in which two runs of a site must differ."""


def read_results_of(source: str, moved: Sequence[Path] = ()) -> Results:
    """Compute the results of a run from its scores.

    What only the sender of a run can know, such as the model's training, is marked as claimed.

    Args:
        source: [NAME=]FOLDER of a run; NAME replaces the model's name.
        moved: Folders of datasets that were moved, as in `open_run`.

    Returns:
        The results.

    Raises:
        UserError: There is no run, or the benchmark that it names is not there. A results.json is
            refused: anyone can write one, and its numbers cannot be checked without the scores.
    """
    name, path = split_name(source)
    if path.is_file():
        raise UserError(
            f"{path} is a file, whose numbers cannot be checked; give the folder of the run, with "
            f"its scores."
        )
    # The scores are measured again: a results.json that came with them is not read.
    run = open_run(path, moved)
    results = recompute(run)
    certificate = "not verified"
    if run.world is not None:
        certificate = describe_certificate(run.benchmark, run.world)
    training = {**results["training"], "sentence": f"{results['training']['sentence']}{_CLAIMED}"}
    return named_results({**results, "certificate": certificate, "training": training}, name)


def _check_same_content(sources: Sequence[str], results: Sequence[Results]) -> None:
    """Raise UserError if two runs claim to be the same and differ, or if benchmarks of one block
    differ.

    Otherwise the run that is given first would silently stand for both.
    """
    first_of_run: dict[str, int] = {}
    first_of_block: dict[str | None, int] = {}
    for place, run in enumerate(results):
        factors = run["factors"]
        same_block = first_of_block.setdefault(factors["block"], place)
        if results[same_block]["factors"]["benchmark"] != factors["benchmark"]:
            raise UserError(
                f"{sources[same_block]} and {sources[place]} were scored on different benchmarks "
                f"of the same held-out block; write a separate site for each."
            )
        identity = json.dumps({name: factors[name] for name in _IDENTITY}, sort_keys=True)
        same_run = first_of_run.setdefault(identity, place)
        if results[same_run]["rows"] != run["rows"]:
            raise UserError(
                f"{sources[same_run]} and {sources[place]} say that they are the same run of "
                f"{run['model']}, and have different scores; leave one out, or name them "
                f"NAME=FOLDER."
            )


def write_site(sources: Sequence[str], out: Path, moved: Sequence[Path] = ()) -> list[Path]:
    """Write index.html with all models, and a page for each model.

    Runs of one model are pooled.

    Args:
        sources: [NAME=]FOLDER of each run.
        out: The folder to write.
        moved: Folders of datasets that were moved, as in `open_run`.

    Returns:
        The pages, index.html first.

    Raises:
        UserError: As `read_results_of`; the results are of several benchmarks; or runs claim to be
            the same and differ.
    """
    results = [read_results_of(source, moved) for source in sources]
    _check_same_content(sources, results)
    # Names come from the senders, and a control character could change what a terminal or an editor
    # shows.
    entries = [{**entry, "model": visible(entry["model"])} for entry in pool_runs(results)]
    differing = differences(entries)
    if differing:
        raise UserError(
            f"Expected results of one benchmark. {differing[0]} Write a separate site for each "
            f"benchmark."
        )
    # By number too: names of different models may give one name of a file.
    links = {}
    for number, entry in enumerate(entries, 1):
        links[marked(entry["model"], entry)] = f"{number}-{folder_name(entry['model'])}.html"
    named = [{**entry, "model": model} for entry, model in zip(entries, links, strict=True)]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / _HOME, render(named, figures(entries), links))
    write_pooled(entries, out / _HOME)
    # Figures mark model names themselves, so they get the entries without marks.
    for marked_entry, entry in zip(named, entries, strict=True):
        page = render([marked_entry], figures([entry]), home=_HOME)
        write_text(out / links[marked_entry["model"]], page)
    return [out / _HOME, *(out / name for name in links.values())]

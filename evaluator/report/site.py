"""Write a static site that compares models on one benchmark, from runs and from results that others send."""

from collections.abc import Sequence
from pathlib import Path

from evaluator.analysis.pooling import differences, pool_runs
from evaluator.protocols.records import Results, ResultsRecord
from evaluator.provenance.contamination import marked
from evaluator.report.figures import figures
from evaluator.report.files import write_pooled
from evaluator.report.page import render
from evaluator.runs.folder import folder_name, named_results, read_named
from generator.base.errors import UserError, visible
from generator.base.files import read_json, write_text
from generator.base.paths import split_name

_HOME = "index.html"


def read_results_of(source: str) -> Results:
    """The results in a run's folder or in a results.json file; [NAME=]PATH, where NAME replaces the model's name.

    Raises UserError for a damaged file, and for impossible numbers.
    """
    name, path = split_name(source)
    if path.is_dir():
        return read_named(source).results
    found = read_json(path, ResultsRecord)
    found.pop("folder", None)  # a file from someone else must not name folders to read
    for row in found["rows"]:
        least = {"share": 0.0, "difference": -1.0}.get(row["unit"], float("-inf"))
        known = [row[end] for end in ("low", "value", "high") if row[end] is not None]
        if known != sorted(known) or any(not least <= each <= max(1.0, -least) for each in known):
            raise UserError(
                f"{path} has an impossible number ({row['protocol']}, {row['metric']}, {row['split']}: {known}); ask "
                f"its sender for another copy."
            )
    return named_results(found, name)


def write_site(sources: Sequence[str], out: Path) -> list[Path]:
    """Write index.html with all models, and a page for each model, into the folder `out`; returns the pages.

    Runs of one model are pooled. Raises UserError for results of several benchmarks.
    """
    entries = [
        {**each, "model": visible(each["model"])} for each in pool_runs([read_results_of(each) for each in sources])
    ]
    if other := differences(entries):
        raise UserError(f"Expected results of one benchmark. {other[0]} Write a separate site for each benchmark.")
    links = {
        marked(each["model"], each): f"{i + 1}-{folder_name(each['model'])}.html" for i, each in enumerate(entries)
    }
    named = [{**each, "model": model} for each, model in zip(entries, links, strict=True)]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / _HOME, render(named, figures(entries), links))
    write_pooled(entries, out / _HOME)
    for entry, raw in zip(named, entries, strict=True):
        write_text(out / links[entry["model"]], render([entry], figures([raw]), home=_HOME))
    return [out / _HOME, *(out / name for name in links.values())]

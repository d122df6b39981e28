"""Write results as files: LaTeX tables in a run's folder; CSV, LaTeX and Markdown beside a page;
and the metadata of a model card (Hugging Face's `model-index`)."""

import re
from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.analysis.pooling import LABELS
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import MARK, mark_of, marked, marks_said
from evaluator.report.overview import every_row, main_lines, read_lines, side_by_side
from evaluator.report.table import loads
from evaluator.report.writers import environment, markdown
from evaluator.runs.folder import tables_folder
from generator.base.errors import UserError
from generator.base.files import write_text
from generator.base.tables import write_csv

_TASK = ("image-text-matching", "Image-text matching")
_ARGUMENTS = (
    "kind",
    "skill",
    "level",
    "error",
    "low",
    "high",
    "speaks_of",
    "chance",
    "ceiling",
    "items",
    "clusters",
    "unscored",
)
"""Columns written with a value: its labels, its interval (0..1) and the population that the
interval speaks of, its chance level, its ceiling and its numbers of items."""


def write_latex(results: Results, folder: Path) -> None:
    """Write tables/PROTOCOL.tex of a run for each protocol in the results."""
    for name, text in latex_tables(results).items():
        write_text(tables_folder(folder) / f"{name}.tex", text)


def latex_tables(results: Results) -> dict[str, str]:
    """{protocol: text of its .tex file} for each protocol in the results."""
    return {
        name: _document(results, name)
        for name in dict.fromkeys(row["protocol"] for row in results["rows"])
    }


def write_pooled(entries: Sequence[Results], page: Path) -> tuple[Path, Path]:
    """Write the rows of pooled entries (evaluator.analysis.pooling) beside `page` as .csv, and
    their tables as .tex and .md; returns the paths of the .csv and the .tex file."""
    marked = any(mark_of(entry) for entry in entries)
    columns = ("model", "benchmark", *LABELS)
    rows = [
        {**({MARK: mark_of(entry)} if marked else {}), **dict.fromkeys(columns), **row}
        for entry in entries
        for row in entry["rows"]
    ]
    table, tex = page.with_suffix(".csv"), page.with_suffix(".tex")
    write_csv(table, pa.Table.from_pylist(rows))
    overview = side_by_side(entries, main_lines(entries))
    full = [
        every_row(entry, name)
        for entry in entries
        for name in dict.fromkeys(row["protocol"] for row in entry["rows"])
    ]
    write_text(page.with_suffix(".md"), "\n".join(markdown(table) for table in [overview, *full]))
    first = environment([overview], " ".join([*overview.said(), overview.mark]), overview.mark)
    write_text(
        tex,
        "\n".join([first, *(text for entry in entries for text in latex_tables(entry).values())]),
    )
    return table, tex


def _document(results: Results, name: str) -> str:
    """The tables of a protocol under one caption, as LaTeX."""
    channel, between = results["channel"], results.get("image_channel", results["channel"])
    channels = channel if between == channel else f"{channel} ({between} between images)"
    title = f"{name}: {results['model']} on {results['benchmark']}, channel {channels}."
    entry = {"runs": 1, "blocks": 1, **results}
    lines = read_lines([entry], lambda row: row["protocol"] == name, by_n=True)
    by_split = side_by_side([entry], lines, every_gap=True)
    fits = loads([fit for fit in results["fits"] if fit["protocol"] == name])
    tables = [by_split, fits] if fits.lines else [by_split]
    caption = [by_split.mark, title, *(said for table in tables for said in table.said())]
    return environment(tables, " ".join(caption), by_split.mark)


def write_model_card(entries: Sequence[Results], path: Path) -> int:
    """Write the results of one model into the metadata of the model card `path`; returns how many
    values.

    A card that exists keeps its text and its other metadata; earlier values of the same benchmarks
    are replaced. Writes the values of each protocol's main metric. Raises UserError for results of
    several models, or of several designs of a benchmark, and for a file that is not a model card.
    """
    from huggingface_hub import ModelCard, ModelCardData

    trained = {
        dumps([entry["factors"][name] for name in ("model", "treatment")], sort_keys=True)
        for entry in entries
    }
    if len(trained) > 1 or len({entry["benchmark"] for entry in entries}) < len(entries):
        models = ", ".join(dict.fromkeys(entry["model"] for entry in entries))
        raise UserError(
            f"Expected runs of one model for a model card, got {models}; write one card per model."
        )
    try:
        card: Any = (
            ModelCard.load(path) if path.exists() else ModelCard(f"---\n{ModelCardData()}\n---\n")
        )
    except Exception as error:  # its parsers raise their own errors
        raise UserError(
            f"{path} is not a model card with readable metadata ({str(error).splitlines()[0]}); "
            f"mend it or name another file."
        ) from None
    found = [each for entry in entries for each in _values(entry)]
    measured = {each.dataset_type for each in found}
    kept = [each for each in card.data.eval_results or [] if each.dataset_type not in measured]
    card.data.eval_results = kept + found
    card.data.model_name = card.data.model_name or entries[0]["factors"]["model"]
    write_text(path, str(card))
    return len(found)


def write_hub(entries: Sequence[Results], folder: Path, dataset: str | None) -> list[Path]:
    """Write the results of one model into the folder of its Hub repository: README.md
    (`write_model_card`) and, if `dataset` (the benchmark's OWNER/NAME on the Hub) is given,
    .eval_results/NAME.yaml; returns these files.

    Raises UserError as `write_model_card`, for a malformed `dataset`, and for several benchmarks
    with a `dataset`.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump

    if dataset is not None and not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset):
        raise UserError(f"Expected a dataset of the Hub as OWNER/NAME, got '{dataset}'.")
    if dataset is not None and len(entries) > 1:
        names = ", ".join(entry["benchmark"] for entry in entries)
        raise UserError(
            f"--hub-dataset takes the results of one benchmark, got {names}; give the runs of one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "README.md"]
    write_model_card(entries, paths[0])
    if dataset is not None:
        found = []
        for each in (value for entry in entries for value in _values(entry)):
            task = f"{each.dataset_config}-{each.dataset_split}-{each.metric_config}".replace(
                " ", "-"
            )
            notes = ", ".join(
                f"{name} {value}"
                for name, value in {"of": each.metric_name, **each.metric_args}.items()
            )
            found.append(EvalResultEntry(dataset, task, each.metric_value, notes=notes))
        paths.append(folder / ".eval_results" / f"{dataset.partition('/')[2]}.yaml")
        paths[1].parent.mkdir(exist_ok=True)
        write_text(paths[1], yaml_dump(eval_result_entries_to_yaml(found)))
    return paths


def _values(entry: Results) -> list[Any]:
    """An EvalResult for each line and split of the protocols' main metrics: the shares that have a
    value."""
    from huggingface_hub import EvalResult

    level = entry["rules"].get("level")
    return [
        EvalResult(
            *_TASK[:1],
            dataset_type=f"jackalope/{entry['benchmark']}",
            dataset_name=entry["benchmark"],
            metric_type=row["metric"],
            metric_value=row["value"],
            task_name=_TASK[1],
            dataset_config=row["protocol"],
            dataset_split=split,
            metric_name=marked(_name(row), entry),
            metric_config=_name(row),
            metric_args={
                **({"mark": marks_said(entry)} if marks_said(entry) else {}),
                "interval_level": level,
                **{name: row[name] for name in _ARGUMENTS if row.get(name) is not None},
            },
        )
        for line in main_lines([entry])
        for split, row in line.rows.items()
        if row["unit"] == "share" and row["value"] is not None
    ]


def _name(row: Any) -> str:
    """The metric with its kind, skill and level, such as `R@1 swap`."""
    return " ".join(
        [
            row["metric"],
            *(str(row[name]) for name in ("kind", "skill", "level") if row.get(name) is not None),
        ]
    )

"""Write results as files: LaTeX tables in a run's folder; CSV, LaTeX and Markdown beside a page;
and the metadata of a model card (Hugging Face's `model-index`)."""

import re
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evaluator.analysis.pooling import POOLED_BY
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import MARK, describe_marks, mark_of, marked
from evaluator.report.overview import every_row, main_lines, read_lines, side_by_side
from evaluator.report.table import loads
from evaluator.report.writers import environment, markdown
from evaluator.runs.folder import tables_folder
from generator.base.errors import UserError
from generator.base.files import write_text
from generator.base.tables import write_csv
from generator.dataset.hub_tasks import CHOICE_PROTOCOLS, METRIC, task_id

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

_TASK = "image-text-matching"
"""The task of all results, as the Hub writes names of tasks."""
_TASK_TITLE = "Image-text matching"
"""The task in words."""
_ARGUMENTS = (
    "kind",
    "skill",
    "level",
    "error",
    "low",
    "high",
    "population",
    "chance",
    "ceiling",
    "items",
    "clusters",
    "unscored",
)
"""Columns written with a value: its labels, its interval (0..1) and the population that the
interval speaks of, its chance level, its ceiling and its numbers of items."""


def write_latex(results: Results, folder: Path) -> None:
    """Write tables/PROTOCOL.tex of a run for each protocol in the results.

    Args:
        results: The results of the run.
        folder: The folder of the run.
    """
    for protocol, text in latex_tables(results).items():
        write_text(tables_folder(folder) / f"{protocol}.tex", text)


def latex_tables(results: Results) -> dict[str, str]:
    """Make the LaTeX tables of results.

    Args:
        results: The results of a run, or one entry of pooled results.

    Returns:
        {protocol: text of its .tex file} for each protocol in the results.
    """
    return {protocol: _document(results, protocol) for protocol in _protocols(results)}


def write_pooled(entries: Sequence[Results], page: Path) -> tuple[Path, Path]:
    """Write the rows of pooled entries beside a page as .csv, and their tables as .tex and .md.

    Args:
        entries: Pooled results (evaluator.analysis.pooling).
        page: The page. The files have its name with other suffixes.

    Returns:
        The paths of the .csv and of the .tex file.
    """
    has_marks = any(mark_of(entry) for entry in entries)
    columns = ("model", "benchmark", *POOLED_BY)
    rows = []
    for entry in entries:
        # A column of marks stands in the table only if some entry has one.
        mark = {MARK: mark_of(entry)} if has_marks else {}
        # All rows have all columns, in one order, whichever protocol comes first.
        rows += [{**mark, **dict.fromkeys(columns), **row} for row in entry["rows"]]
    csv = page.with_suffix(".csv")
    tex = page.with_suffix(".tex")
    write_csv(csv, pa.Table.from_pylist(rows))

    # The table of main metrics first, then all rows of each entry.
    overview = side_by_side(entries, main_lines(entries))
    tables = [overview]
    for entry in entries:
        tables += [every_row(entry, protocol) for protocol in _protocols(entry)]
    write_text(page.with_suffix(".md"), "\n".join(markdown(table) for table in tables))

    caption = " ".join([*overview.all_notes(), overview.mark])
    documents = [environment([overview], caption, overview.mark)]
    for entry in entries:
        documents += latex_tables(entry).values()
    write_text(tex, "\n".join(documents))
    return csv, tex


def _protocols(results: Results) -> list[str]:
    """The protocols of results, each once, in their order."""
    return list(dict.fromkeys(row["protocol"] for row in results["rows"]))


def _document(results: Results, protocol: str) -> str:
    """The tables of a protocol under one caption, as LaTeX."""
    channel = results["channel"]
    image_channel = results.get("image_channel", channel)
    channels = channel
    if image_channel != channel:
        channels = f"{channel} ({image_channel} between images)"
    title = f"{protocol}: {results['model']} on {results['benchmark']}, channel {channels}."
    # Results of a single run do not count runs, which tables of pooled results name.
    entry = {"runs": 1, "blocks": 1, **results}
    lines = read_lines([entry], lambda row: row["protocol"] == protocol, by_n=True)
    by_split = side_by_side([entry], lines, every_gap=True)
    fits = loads([fit for fit in results["fits"] if fit["protocol"] == protocol])
    tables = [by_split, fits] if fits.lines else [by_split]
    caption = [by_split.mark, title]
    for table in tables:
        caption += table.all_notes()
    return environment(tables, " ".join(caption), by_split.mark)


def write_model_card(entries: Sequence[Results], path: Path) -> int:
    """Write the results of one model into the metadata of a model card.

    A card that exists keeps its text and its other metadata; earlier values of the same benchmarks
    are replaced. Writes the values of each protocol's main metric.

    Args:
        entries: Pooled results.
        path: The card.

    Returns:
        The number of values.

    Raises:
        UserError: The results are of several models, or of several designs of a benchmark; or the
            file is not a model card.
    """
    from huggingface_hub import ModelCard, ModelCardData

    trainings = {_training(entry) for entry in entries}
    benchmarks = {entry["benchmark"] for entry in entries}
    if len(trainings) > 1 or len(benchmarks) < len(entries):
        models = ", ".join(dict.fromkeys(entry["model"] for entry in entries))
        raise UserError(
            f"Expected runs of one model for a model card, got {models}; write one card per model."
        )
    try:
        card: Any
        if path.exists():
            card = ModelCard.load(path)
        else:
            card = ModelCard(f"---\n{ModelCardData()}\n---\n")
    except Exception as error:  # its parsers raise their own errors
        raise UserError(
            f"{path} is not a model card with readable metadata ({str(error).splitlines()[0]}); "
            f"fix it or name another file."
        ) from None
    values = _all_values(entries)
    measured = {value.dataset_type for value in values}
    earlier = card.data.eval_results or []
    # A card may have results of other tools and of other benchmarks, which stay.
    others = [value for value in earlier if value.dataset_type not in measured]
    card.data.eval_results = others + values
    card.data.model_name = card.data.model_name or entries[0]["factors"]["model"]
    write_text(path, str(card))
    return len(values)


def _training(entry: Results) -> str:
    """What tells the models of entries apart: the model and how it was treated."""
    return dumps([entry["factors"][name] for name in ("model", "treatment")], sort_keys=True)


def check_hub_dataset(name: str) -> None:
    """Check the name of a dataset of the Hub.

    Args:
        name: The name.

    Raises:
        UserError: It is not OWNER/NAME.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UserError(f"Expected a dataset of the Hub as OWNER/NAME, got '{name}'.")


def write_hub(entries: Sequence[Results], folder: Path, dataset: str | None) -> list[Path]:
    """Write the results of one model into the folder of its Hub repository.

    Args:
        entries: Pooled results.
        folder: The folder; created if it does not exist.
        dataset: The benchmark's OWNER/NAME on the Hub. None: no .eval_results/NAME.yaml is written.

    Returns:
        The files: README.md (`write_model_card`) and .eval_results/NAME.yaml.

    Raises:
        UserError: As `write_model_card`; `dataset` is malformed, or given with results of several
            benchmarks or without a task (generator.dataset.hub_tasks).
    """
    from huggingface_hub import eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump

    if dataset is not None:
        check_hub_dataset(dataset)
    if dataset is not None and len(entries) > 1:
        names = ", ".join(entry["benchmark"] for entry in entries)
        raise UserError(
            f"--hub-dataset takes the results of one benchmark, got {names}; give the runs of one."
        )
    # Before anything is written: a dataset without a task would leave half of the files.
    results = [] if dataset is None else _task_results(entries[0], dataset)
    folder.mkdir(parents=True, exist_ok=True)
    card = folder / "README.md"
    write_model_card(entries, card)
    if dataset is None:
        return [card]
    file = folder / ".eval_results" / f"{dataset.partition('/')[2]}.yaml"
    file.parent.mkdir(exist_ok=True)
    write_text(file, yaml_dump(eval_result_entries_to_yaml(results)))
    return [card, file]


def _task_results(entry: Results, dataset: str) -> list[Any]:
    """The entries of .eval_results. Raises UserError if the results have no task of the dataset."""
    results = []
    for row in entry["rows"]:
        if _has_task(row):
            results.append(_hub_entry(_value(entry, row["split"], row), row, dataset))
    if not results:
        raise UserError(
            f"--hub-dataset {dataset}: eval.yaml of a dataset declares tasks for the protocols "
            f"{' and '.join(CHOICE_PROTOCOLS)}, and the run has no accuracy of these; score one of "
            f"them, or leave --hub-dataset out."
        )
    return results


def _has_task(row: Mapping[str, Any]) -> bool:
    """Whether eval.yaml of the dataset declares a task for a row (generator.dataset.hub_tasks)."""
    is_task = row["protocol"] in CHOICE_PROTOCOLS and row["metric"] == METRIC
    is_of_kind = row["kind"] is not None and row["skill"] is None and row["level"] is None
    is_value = not row["is_gap"] and row["n"] is None and row["error"] is None
    return is_task and is_of_kind and is_value and row["value"] is not None


def _hub_entry(value: "EvalResult", row: Mapping[str, Any], dataset: str) -> Any:
    """A row as an entry of .eval_results, which has no fields for labels: they are its notes."""
    from huggingface_hub import EvalResultEntry

    task = task_id(row["protocol"], row["kind"], row["split"])
    arguments = {"of": value.metric_name, **(value.metric_args or {})}
    notes = ", ".join(f"{name} {argument}" for name, argument in arguments.items())
    return EvalResultEntry(dataset, task, row["value"], notes=notes)


def _all_values(entries: Sequence[Results]) -> list["EvalResult"]:
    """An EvalResult for each line and split of the protocols' main metrics: the shares that have a
    value."""
    values = []
    for entry in entries:
        for line in main_lines([entry]):
            for split, row in line.rows.items():
                if row["unit"] == "share" and row["value"] is not None:
                    values.append(_value(entry, split, row))
    return values


def _value(entry: Results, split: str, row: Mapping[str, Any]) -> "EvalResult":
    from huggingface_hub import EvalResult

    arguments: dict[str, Any] = {}
    if describe_marks(entry):
        arguments["mark"] = describe_marks(entry)
    arguments["interval_level"] = entry["rules"].get("level")
    for name in _ARGUMENTS:
        if row.get(name) is not None:
            arguments[name] = row[name]
    return EvalResult(
        _TASK,
        dataset_type=f"jackalope/{entry['benchmark']}",
        dataset_name=entry["benchmark"],
        metric_type=row["metric"],
        metric_value=row["value"],
        task_name=_TASK_TITLE,
        dataset_config=row["protocol"],
        dataset_split=split,
        metric_name=marked(_metric_name(row), entry),
        metric_config=_metric_name(row),
        metric_args=arguments,
    )


def _metric_name(row: Mapping[str, Any]) -> str:
    """The metric with its kind, skill and level, such as `R@1 swap`."""
    labels = [str(row[name]) for name in ("kind", "skill", "level") if row.get(name) is not None]
    return " ".join([row["metric"], *labels])

"""Measure a run: compute the outcomes and rows of every protocol from its scores. Needs no
model."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evaluator.protocols import find_protocol
from evaluator.protocols.records import Results
from evaluator.protocols.results import ProtocolResults
from evaluator.runs.folder import Run, open_run
from evaluator.runs.lock import locked_run
from evaluator.runs.rules import Rules, choose_rules
from evaluator.runs.stored_scores import read_scores
from evaluator.runs.summary import summarize_run
from evaluator.runs.tables import item_rows, write_tables
from generator.base.errors import UserError
from generator.base.files import draft_of, read_json, write_json

logger = logging.getLogger(__name__)
_MOST_NAMES = 5
"""Unscored items of a protocol that the log names."""


def measure(
    folder: Path,
    *,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Results:
    """Write results.json and tables/*.csv of a run. The run is locked meanwhile.

    Args:
        folder: The folder of a finished run.
        channel: The scores to measure.
        tolerance: Scores that differ by no more than this tie; 0 or more.
        level: Level of the intervals, 0.5..0.999. These three default to those of the run.

    Returns:
        The contents of results.json (evaluator.protocols.records.ResultsRecord): `rows` has a row
        for every metric, group of items and split of every protocol, `fits` the skill loads, and
        `cells` R@1 for every combination of counts.

    Raises:
        UserError: The folder is not a run, the dataset changed since the scores were made, or
            another command writes the run (evaluator.runs.lock).
    """
    open_run(folder)  # a folder without a run is refused before a lock is written there
    with locked_run(folder):
        return measure_locked(folder, channel=channel, tolerance=tolerance, level=level)


def measure_locked(
    folder: Path,
    *,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Results:
    """Measure a run whose lock the caller holds.

    Args:
        folder: As for `measure`.
        channel: As for `measure`.
        tolerance: As for `measure`.
        level: As for `measure`.

    Returns:
        As `measure`.

    Raises:
        UserError: As `measure`; and if the scores changed meanwhile.
    """
    run = open_run(folder)
    rules = choose_rules(run, channel=channel, tolerance=tolerance, level=level)
    measured = measure_protocols(run, rules)
    _log_unscored(measured)
    # Locks do not work on every disk: scores of one run must not be published as another's.
    if read_json(folder / "run.json") != run.record:
        raise UserError(
            f"{folder} was written again while it was measured; run `score measure {folder}` again."
        )
    results = summarize_run(run, measured, rules)
    write_tables(run, measured, results)
    write_json(folder / "results.json", results)
    return results


def recompute(run: Run) -> Results:
    """Compute the results of a run from its scores. Reads no results.json, and writes nothing.

    Args:
        run: A finished run.

    Returns:
        As `measure`.

    Raises:
        UserError: As `measure`.
    """
    rules = choose_rules(run)
    return summarize_run(run, measure_protocols(run, rules), rules)


def write_items(
    folder: Path,
    *,
    channel: str | None = None,
    tolerance: float | None = None,
    level: float | None = None,
) -> Path:
    """Write items.jsonl of a run: a JSON line for each row of `item_rows`. The write is atomic.

    Args:
        folder: As for `measure`.
        channel: As for `measure`.
        tolerance: As for `measure`.
        level: As for `measure`.

    Returns:
        The path of the file.

    Raises:
        UserError: As `measure`.
    """
    run = open_run(folder)
    rules = choose_rules(run, channel=channel, tolerance=tolerance, level=level)
    measured = measure_protocols(run, rules)
    path = folder / "items.jsonl"
    with draft_of(path) as draft, draft.open("w", encoding="utf-8") as file:
        for row in item_rows(run, measured):
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return path


def measure_protocols(run: Run, rules: Rules | None = None) -> dict[str, ProtocolResults]:
    """Measure every protocol of a run.

    Args:
        run: A finished run.
        rules: How to measure it; None for the run's own rules.

    Returns:
        By protocol, its items, their outcomes and its rows.

    Raises:
        UserError: A file of scores is missing or damaged.
    """
    rules = rules or choose_rules(run)
    # A model may have a channel for comparisons of images.
    scores = read_scores(run, rules)
    scores_between_images = scores
    if rules.image_channel != rules.channel:
        scores_between_images = read_scores(run, replace(rules, channel=rules.image_channel))
        scores = replace(scores, between_images=scores_between_images)
    measured = {}
    for name in run.record["protocols"]:
        protocol = find_protocol(name)
        of_protocol = scores_between_images if protocol.compares_images else scores
        measured[name] = protocol.measure(of_protocol)
    return measured


def _log_unscored(measured: Mapping[str, ProtocolResults]) -> None:
    """Log the first items without a score, and the file that lists all of them."""
    for protocol, results in measured.items():
        items = results.items
        unscored = items.item_id[~items.scored].tolist()
        if not unscored:
            continue
        names = ", ".join(unscored[:_MOST_NAMES])
        if len(unscored) > _MOST_NAMES:
            names += f" and {len(unscored) - _MOST_NAMES:,} more"
        reasons = ", ".join(sorted(set(items.unscored.tolist()) - {""}))
        logger.info(
            f"Unscored items of '{protocol}': {names} ({reasons}); tables/items.csv lists all."
        )

"""Verifies the splits of a table of labels made by others."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from generator.judge.certificate import Findings
from generator.judge.foreign.characters import character_findings
from generator.judge.foreign.checks import (
    arrangement_leaks,
    count_splits,
    image_leaks,
    shortcut_findings,
    true_negatives,
)
from generator.judge.foreign.familiarity import Familiarity
from generator.judge.foreign.table import CONVERSES, LabelTable, SplitRoles, read_label_table


def verify_splits(
    path: Path, columns: Sequence[str] = (), roles: SplitRoles | None = None
) -> dict[str, Any]:
    """Judge a table of labels.

    Args:
        path: The table (docs/verify.md).
        columns: Entries ROLE=COLUMN for columns that are not named like their role.
        roles: Which splits train and which may show the same; by default the split train trains.

    Returns:
        `status` (clean or failed), `sentence`, `findings` ({fault, what}, the first twenty of each
        fault), `faults` (numbers by fault), `notes`, `rows`, `arrangements`, `splits` (rows by
        split), `familiarity` (by attribute kind, one row per split) and `places` (every value
        tested for its place).

    Raises:
        UserError: The table cannot be read.
    """
    table = read_label_table(path, columns, roles or SplitRoles())
    findings = Findings()
    # Characters first: look-alike letters explain why labels that look equal are not found shared.
    findings.add(character_findings(table.texts))
    findings.add(arrangement_leaks(table))
    findings.add(image_leaks(table))
    findings.add(true_negatives(table))
    shortcuts, places = shortcut_findings(table)
    findings.add(shortcuts)
    familiarity = Familiarity(table)
    findings.add(familiarity.exposed())
    findings.add(familiarity.asymmetric())
    faults = dict(sorted(findings.counts.items()))
    data = {
        "status": "failed" if faults else "clean",
        "findings": list(findings.listed()),
        "faults": faults,
        "notes": list(_notes(table, familiarity)),
        "rows": len(table.rows),
        "arrangements": len({row.label.arrangement for row in table.rows}),
        "splits": count_splits(table),
        "familiarity": {kind: familiarity.count_rows(kind) for kind in familiarity.kinds},
        "places": places,
    }
    return {"sentence": _sentence(table, data, familiarity.is_known), **data}


def _notes(table: LabelTable, familiarity: Familiarity) -> Iterator[str]:
    """Notes for the reader of the findings, including what could not be judged."""
    n_without_split = sum(row.split is None for row in table.rows)
    if n_without_split:
        yield f"{n_without_split:,} rows are in no split; they are counted but not compared."
    relations = {label.relation for label in table.labels if label.relation}
    unknown = sorted(relations - set(CONVERSES))
    if unknown:
        yield (
            f"Relations without a known converse, compared in their own words only: "
            f"{', '.join(unknown)}."
        )
    # A clean verdict would otherwise sound as if splits had been compared.
    if len(table.splits) == 1:
        yield (
            f"There is one split ({table.splits[0]}), so nothing can be shared between splits; "
            f"name the split column with --columns split=COLUMN."
        )
    elif not familiarity.is_known:
        yield (
            f"No split trains (there are {', '.join(table.splits)}), so familiarity is not judged; "
            f"name the training split with --train."
        )


def _sentence(table: LabelTable, data: dict[str, Any], is_known: bool) -> str:
    """A sentence to quote, which states only what was judged."""
    if data["faults"]:
        listed = ", ".join(f"{count:,} x {fault}" for fault, count in data["faults"].items())
        return f"failed: {listed}."
    proven = []
    if len(table.splits) > 1:
        images = " and no image" if any(row.image for row in table.rows) else ""
        proven.append(
            f"no arrangement{images} is in two splits, in any order of mention or by the converse "
            f"of a relation"
        )
    if data["places"]:
        proven.append("no positional shortcut")
    # What the table lacks is not said to be proven.
    if any(row.negative for row in table.rows):
        familiar = " or differs from its label in familiarity" if is_known else ""
        proven.append(f"no negative is true{familiar}")
    n_splits = len(table.splits)
    return (
        f"clean: {data['rows']:,} rows ({data['arrangements']:,} arrangements) in {n_splits} "
        f"split{'s' * (n_splits != 1)}: {'; '.join(proven) or 'nothing to compare'}."
    )

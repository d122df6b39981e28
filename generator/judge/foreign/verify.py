"""Verify the splits of a file of labels made by others, task by task."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from generator.judge.certificate import Findings
from generator.judge.foreign.checks import (
    arrangement_leaks,
    image_leaks,
    shortcut_findings,
    true_negatives,
)
from generator.judge.foreign.familiarity import Familiarity
from generator.judge.foreign.labels import CONVERSE, character_findings
from generator.judge.foreign.rows import SplitRoles, Task, read_tasks


def verify_splits(
    path: Path, columns: Sequence[str] = (), task: str | None = None, roles: SplitRoles | None = None
) -> dict[str, dict[str, Any]]:
    """Judge a file of labels; returns the results by task.

    A result has `status` (clean or failed), `sentence`, `findings` ({fault, what}, the first twenty of each fault),
    `faults` (numbers by fault), `notes`, `rows`, `arrangements`, `splits` (rows by split), `familiarity` (by
    attribute kind, one row per split) and `places` (every value tested for its place). Raises UserError if the file
    cannot be judged.
    """
    return {each.name: judge(each) for each in read_tasks(path, columns, task, roles or SplitRoles())}


def judge(task: Task) -> dict[str, Any]:
    """Judge a task."""
    findings = Findings()
    findings.add(character_findings(task.texts))
    findings.add(arrangement_leaks(task))
    findings.add(image_leaks(task))
    findings.add(true_negatives(task))
    shortcuts, places = shortcut_findings(task)
    findings.add(shortcuts)
    familiarity = Familiarity(task)
    findings.add(familiarity.exposed())
    findings.add(familiarity.asymmetric())
    faults = dict(sorted(findings.counts.items()))
    data = {
        "status": "failed" if faults else "clean",
        "findings": list(findings.listed()),
        "faults": faults,
        "notes": list(_notes(task, familiarity)),
        "rows": len(task.rows),
        "arrangements": len({row.label.shown for row in task.rows if row.label}),
        "splits": {name: sum(row.split == name for row in task.rows) for name in task.splits},
        "familiarity": {kind: familiarity.table(kind) for kind in familiarity.kinds},
        "places": places,
    }
    return {"sentence": _sentence(task, data, familiarity.known), **data}


def _notes(task: Task, familiarity: Familiarity) -> Iterator[str]:
    """What the reader of the findings should know, and what could not be judged."""
    if task.unreadable:
        yield f"{len(task.unreadable)} labels cannot be read and are not judged, the first: {task.unreadable[0]}."
    if missing := sum(row.split is None for row in task.rows):
        yield f"{missing:,} rows are in no split; they are counted and in no comparison."
    unknown = sorted({name for label in task.labels for _, name, _, _ in label.meaning.links} - set(CONVERSE))
    if unknown:
        yield f"Relations without a known converse, compared in their own words only: {', '.join(unknown)}."
    if len(task.splits) == 1:
        yield (
            f"There is one split ({task.splits[0]}), so that nothing can be shared between splits; name its column "
            "with --columns split=COLUMN."
        )
    elif not familiarity.known:
        yield (
            f"No split trains (there are {', '.join(task.splits)}), so that familiarity is not judged; name it with "
            "--train."
        )


def _sentence(task: Task, data: dict[str, Any], known: bool) -> str:
    """One sentence to quote. It states only what was judged."""
    faults = data["faults"]
    if faults:
        return "failed: " + ", ".join(f"{n:,} x {fault}" for fault, n in faults.items()) + "."
    proven = []
    if len(task.splits) > 1:
        images = "" if all(row.image is None for row in task.rows) else " and no image"
        proven.append(
            f"no arrangement{images} is in two splits, in any order of mention or by the converse of a relation"
        )
    if data["places"]:
        proven.append("no value is told by its place")
    if any(row.negatives for row in task.rows):
        proven.append("no negative is true" + (" or differs from its label in familiarity" if known else ""))
    rows, arrangements = data["rows"], data["arrangements"]
    return (
        f"clean: {rows:,} rows ({arrangements:,} arrangements) in {len(task.splits)} "
        f"split{'s' * (len(task.splits) > 1)}: {'; '.join(proven) or 'nothing to compare'}."
    )

"""`gen verify --splits`: judges the labels of a file, task by task."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from generator.judge.foreign.columns import parse_columns
from generator.judge.foreign.familiarity import Familiarity
from generator.judge.foreign.leaks import arrangement_leaks, exposed_bindings, image_leaks, shared_groups
from generator.judge.foreign.negatives import true_negatives
from generator.judge.foreign.places import place_findings
from generator.judge.foreign.reader import read_tasks
from generator.judge.foreign.relations import CONVERSE
from generator.judge.foreign.rows import Marks
from generator.judge.foreign.task import Task
from generator.judge.ledger import Ledger


def verify_splits(
    path: Path, columns: Sequence[str] = (), task: str | None = None, marks: Marks | None = None
) -> dict[str, dict[str, Any]]:
    """What is found in a file of labels, by task.

    Each has `status` (clean or failed), `sentence`, `findings` ({fault, what}, the first twenty of a fault), `faults`
    (number by fault), `notes`, `rows`, `arrangements`, `splits` (rows by split), `familiarity` (by kind of attribute, a
    row a split) and `places` (every value tested for its place). Raises UserError where the file cannot be judged.
    """
    return {each.name: judge(each) for each in read_tasks(path, parse_columns(columns), task, marks or Marks())}


def judge(task: Task) -> dict[str, Any]:
    """What is found in a task."""
    ledger = Ledger()
    ledger.enter(arrangement_leaks(task))
    ledger.enter(image_leaks(task))
    ledger.enter(exposed_bindings(task))
    ledger.enter(true_negatives(task))
    shortcuts, places = place_findings(task)
    ledger.enter(shortcuts)
    familiarity = Familiarity(task)
    ledger.enter(familiarity.asymmetric())
    faults = dict(sorted(ledger.counts.items()))
    kinds = sorted({pair[0] for pairs in familiarity.of for pair in pairs}) if familiarity.known else []
    data = {
        "status": "failed" if faults else "clean",
        "findings": list(ledger.listed()),
        "faults": faults,
        "notes": list(_notes(task, familiarity, kinds)),
        "rows": len(task.label),
        "arrangements": len(np.unique(task.arrangements[task.label[task.label >= 0]])),
        "splits": {name: int((task.split == n).sum()) for n, name in enumerate(task.splits)},
        "familiarity": {kind: familiarity.table(kind) for kind in kinds},
        "places": places,
    }
    return {"sentence": _sentence(task, data, familiarity.known), **data}


def _notes(task: Task, familiarity: Familiarity, kinds: list[str]) -> Iterator[str]:
    """What a reader of the findings has to know, and what could not be judged."""
    if task.unreadable:
        yield f"{len(task.unreadable)} labels cannot be read and are not judged, the first: {task.unreadable[0]}."
    if missing := int((task.split < 0).sum()):
        yield f"{missing:,} rows are in no split; they are counted and in no comparison."
    unknown = sorted({name for said in task.said for _, name, _, _ in said.links} - set(CONVERSE))
    if unknown:
        yield f"Relations without a known converse, compared in their own words only: {', '.join(unknown)}."
    if len(task.splits) == 1:
        yield f"There is one split ({task.splits[0]}), so that nothing can be shared between splits; name its column with --columns split=COLUMN."
    elif not familiarity.known:
        yield f"No split trains (there are {', '.join(task.splits)}), so that familiarity is not judged; name it with --train."
    n, example = shared_groups(task)
    if n:
        yield f"{n:,} groups of the same objects and values are paired otherwise in another split, such as {example}: they are no independent facts."
    for kind in kinds:
        for split, rows, first in familiarity.unequal_swaps(kind):
            yield (
                f"{split}: asked against a caption with its {kind}s exchanged, {rows:,} rows would not be equally familiar "
                f"(another number of bindings that training never shows), the first {first}."
            )


def _sentence(task: Task, data: dict[str, Any], known: bool) -> str:
    """What a person can quote: only what was judged."""
    faults = data["faults"]
    if faults:
        return "failed: " + ", ".join(f"{n:,} x {fault}" for fault, n in faults.items()) + "."
    proven = []
    if len(task.splits) > 1:
        images = "" if task.image is None else " and no image"
        proven.append(
            f"no arrangement{images} is in two splits, in any order of mention or by the converse of a relation"
        )
    if data["places"]:
        proven.append("no value is told by its place")
    if task.negatives.size:
        proven.append("no negative is true" + (" or differs from its label in familiarity" if known else ""))
    rows, arrangements = data["rows"], data["arrangements"]
    return f"clean: {rows:,} rows ({arrangements:,} arrangements) in {len(task.splits)} split{'s' * (len(task.splits) > 1)}: {'; '.join(proven) or 'nothing to compare'}."

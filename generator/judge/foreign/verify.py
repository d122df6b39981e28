"""Verifies the splits of a file of labels made by others, task by task, and whether labels and
negatives are equally familiar."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from generator.judge.certificate import Finding, Findings, finding
from generator.judge.foreign.checks import (
    arrangement_leaks,
    image_leaks,
    shortcut_findings,
    true_negatives,
)
from generator.judge.foreign.labels import CONVERSE, arrangement, attributes, character_findings
from generator.judge.foreign.rows import Label, Row, SplitRoles, Task, read_tasks

Binding = tuple[str, str, str]
"""(kind, value, category)"""
Triple = tuple[str | None, str, str | None]
"""(subject, relation, object), by category."""


class Familiarity:
    """Finds bindings and relations that no training label shows.

    `known`: whether there are training labels. `kinds`: the attribute kinds of all labels; empty if
    not `known`.
    """

    def __init__(self, task: Task):
        self.task = task
        trained = {row.label for row in task.rows if row.label and row.split in task.training}
        self.known = bool(trained)
        self._bindings = {label: _bindings(label) for label in task.labels}
        self._triples = {label: _triples(label) for label in task.labels}
        self._shown = {pair for label in trained for pair in self._bindings[label]}
        self._linked = {triple for label in trained for triple in self._triples[label]}
        self.kinds = (
            sorted({kind for pairs in self._bindings.values() for kind, _, _ in pairs})
            if self.known
            else []
        )

    def exposed(self) -> Iterator[Finding]:
        """Negatives of training rows that name a binding which evaluation labels show and training
        labels do not."""
        unseen = {
            pair for row, label in self._evaluated() for pair in self._bindings[label]
        } - self._shown
        found: set[Label] = set()
        for row in self.task.rows:
            for negative in row.negatives:
                if row.split in self.task.training and negative and negative not in found:
                    found.add(negative)
                    for _, value, category in (
                        pair for pair in self._bindings[negative] if pair in unseen
                    ):
                        words = f"{row.quoted(negative)} is a negative and names {value} {category}"
                        yield finding("exposed binding", words)

    def asymmetric(self) -> Iterator[Finding]:
        """Evaluation rows whose label and negative name different numbers of facts that training
        never shows."""
        found: set[tuple[Label, Label, str | None]] = set()
        for row, label in self._evaluated() if self.known else ():
            for negative in row.negatives:
                if not negative or (label, negative, row.split) in found:
                    continue
                found.add((label, negative, row.split))
                for name, facts, shown in (
                    ("bindings", self._bindings, self._shown),
                    ("relations", self._triples, self._linked),
                ):
                    own, other = (
                        sum(fact not in shown for fact in facts[each]) for each in (label, negative)
                    )
                    if own != other:
                        yield finding(
                            "asymmetric familiarity",
                            f"{row.quoted(label)} has {own} {name} that training never shows, its "
                            f"negative "
                            f'"{negative.words}" {other}',
                        )

    def _evaluated(self) -> list[tuple[Row, Label]]:
        return [
            (row, label)
            for row, split, label in self.task.labelled
            if split not in self.task.training
        ]

    def table(self, kind: str) -> list[dict[str, Any]]:
        """Counts rows by how many of their bindings of a kind training never shows: an entry for
        each split, for "no split" and for "all".

        `seen`: none; `partial`: some; `unseen`: all. `seen_unequal` etc. count the rows whose
        number changes if their
        two objects exchange values. Rows without a binding of the kind are not counted.
        """
        counts: dict[str, Counter[str]] = {
            name: Counter() for name in (*self.task.splits, "no split", "all")
        }
        for row in self.task.rows:
            missing = [pair not in self._shown for pair in self._of_kind(row.label, kind)]
            if row.label and missing:
                name = "unseen" if all(missing) else "partial" if any(missing) else "seen"
                for split in (row.split or "no split", "all"):
                    counts[split][name] += 1
                    counts[split][f"{name}_unequal"] += self._is_unequal(row.label, kind)
        names = [
            f"{name}{more}" for name in ("seen", "partial", "unseen") for more in ("", "_unequal")
        ]
        return [
            {
                "split": split,
                "trains": split in self.task.training,
                **{name: found[name] for name in names},
            }
            for split, found in counts.items()
            if found
        ]

    def _of_kind(self, label: Label | None, kind: str) -> list[Binding]:
        return [pair for pair in self._bindings[label] if pair[0] == kind] if label else []

    def _is_unequal(self, label: Label, kind: str) -> bool:
        """Whether exchanging the values of the two objects changes how many bindings training never
        shows."""
        own = self._of_kind(label, kind)
        each = [sum(of == kind for of, _ in attributes(thing)) for thing in label.meaning.things]
        if each != [1, 1]:
            return False
        (_, first, one), (_, second, other) = own
        swapped = [(kind, second, one), (kind, first, other)]
        return sum(pair not in self._shown for pair in own) != sum(
            pair not in self._shown for pair in swapped
        )


def _bindings(label: Label) -> list[Binding]:
    """The bindings of a label, in order of mention."""
    return [
        (kind, value, str(thing.category))
        for thing in label.meaning.things
        for kind, value in attributes(thing)
    ]


def _triples(label: Label) -> list[Triple]:
    """The triples of a label; a relation and its converse give the same triple."""
    if not label.meaning.links:
        return []
    bare = tuple(thing._replace(attributes=()) for thing in label.meaning.things)
    shown = arrangement(label.meaning._replace(things=bare))
    return [
        (shown.things[s].category, name, shown.things[o].category) for s, name, o, _ in shown.links
    ]


def verify_splits(
    path: Path,
    columns: Sequence[str] = (),
    task: str | None = None,
    roles: SplitRoles | None = None,
) -> dict[str, dict[str, Any]]:
    """Judge a file of labels; returns the results by task.

    A result has `status` (clean or failed), `sentence`, `findings` ({fault, what}, the first twenty
    of each fault),
    `faults` (numbers by fault), `notes`, `rows`, `arrangements`, `splits` (rows by split),
    `familiarity` (by
    attribute kind, one row per split) and `places` (every value tested for its place). Raises
    UserError if the file
    cannot be judged.
    """
    return {
        each.name: judge(each) for each in read_tasks(path, columns, task, roles or SplitRoles())
    }


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
    """Notes for the reader of the findings, including what could not be judged."""
    if task.unreadable:
        yield (
            f"{len(task.unreadable)} labels cannot be read and are not judged, the first: "
            f"{task.unreadable[0]}."
        )
    if missing := sum(row.split is None for row in task.rows):
        yield f"{missing:,} rows are in no split; they are counted but not compared."
    unknown = sorted(
        {name for label in task.labels for _, name, _, _ in label.meaning.links} - set(CONVERSE)
    )
    if unknown:
        yield (
            f"Relations without a known converse, compared in their own words only: "
            f"{', '.join(unknown)}."
        )
    if len(task.splits) == 1:
        yield (
            f"There is one split ({task.splits[0]}), so nothing can be shared between splits; name "
            f"the split column "
            "with --columns split=COLUMN."
        )
    elif not familiarity.known:
        yield (
            f"No split trains (there are {', '.join(task.splits)}), so familiarity is not judged; "
            f"name the training "
            "split with --train."
        )


def _sentence(task: Task, data: dict[str, Any], known: bool) -> str:
    """A sentence to quote, which states only what was judged."""
    faults = data["faults"]
    if faults:
        return "failed: " + ", ".join(f"{n:,} x {fault}" for fault, n in faults.items()) + "."
    proven = []
    if len(task.splits) > 1:
        images = "" if all(row.image is None for row in task.rows) else " and no image"
        proven.append(
            f"no arrangement{images} is in two splits, in any order of mention or by the converse "
            f"of a relation"
        )
    if data["places"]:
        proven.append("no positional shortcut")
    if any(row.negatives for row in task.rows):
        proven.append(
            "no negative is true" + (" or differs from its label in familiarity" if known else "")
        )
    rows, arrangements = data["rows"], data["arrangements"]
    return (
        f"clean: {rows:,} rows ({arrangements:,} arrangements) in {len(task.splits)} "
        f"split{'s' * (len(task.splits) > 1)}: {'; '.join(proven) or 'nothing to compare'}."
    )

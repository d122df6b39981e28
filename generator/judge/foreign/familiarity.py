"""Whether labels and negatives of others name equally many bindings and relations that training
never shows."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from generator.judge.certificate import Finding, finding
from generator.judge.foreign.table import Label, LabelledObject, LabelTable, Row

Binding = tuple[str, str, str]
"""(kind, value, category)"""
Triple = tuple[str, str, str]
"""(subject, relation, object), by category."""

_LEVELS = ("seen", "partial", "unseen")
"""How many bindings of a row training never shows: none, some or all."""


class Familiarity:
    """Finds bindings and relations that no training label shows."""

    is_known: bool
    """Whether there are training labels."""
    kinds: list[str]
    """The attribute kinds of all labels; empty if familiarity is not known."""

    def __init__(self, table: LabelTable):
        self._table = table
        self._bindings = {label: _bindings(label) for label in table.labels}
        self._triples = {label: _triples(label) for label in table.labels}
        trained = {row.label for row in table.rows if row.split in table.training}
        self.is_known = bool(trained)
        self._trained_bindings: set[Binding] = set()
        self._trained_triples: set[Triple] = set()
        for label in trained:
            self._trained_bindings.update(self._bindings[label])
            self._trained_triples.update(self._triples[label])
        self.kinds = []
        if self.is_known:
            kinds: set[str] = set()
            for bindings in self._bindings.values():
                kinds.update(kind for kind, _, _ in bindings)
            self.kinds = sorted(kinds)

    def exposed(self) -> Iterator[Finding]:
        """Negatives of training rows that name a binding which evaluation labels show and training
        labels do not."""
        unseen: set[Binding] = set()
        for row in self._evaluation_rows():
            unseen.update(self._bindings[row.label])
        # What training labels show anyway is not exposed by a negative.
        unseen -= self._trained_bindings
        judged: set[Label] = set()
        for row in self._table.rows:
            negative = row.negative
            if row.split not in self._table.training or negative is None or negative in judged:
                continue
            judged.add(negative)
            for binding in self._bindings[negative]:
                if binding in unseen:
                    _, value, category = binding
                    yield finding(
                        "exposed binding",
                        f"{row.quoted(negative)} is a negative and names {value} {category}",
                    )

    def asymmetric(self) -> Iterator[Finding]:
        """Evaluation rows whose label and negative name different numbers of facts that training
        never shows."""
        if not self.is_known:
            return
        judged: set[tuple[Label, Label, str | None]] = set()
        for row in self._evaluation_rows():
            negative = row.negative
            # A file may repeat a label for each of a thousand images.
            if negative is None or (row.label, negative, row.split) in judged:
                continue
            judged.add((row.label, negative, row.split))
            for name in ("bindings", "relations"):
                of_label = self._count_unseen(row.label, name)
                of_negative = self._count_unseen(negative, name)
                if of_label != of_negative:
                    yield finding(
                        "asymmetric familiarity",
                        f"{row.quoted(row.label)} has {of_label} {name} that training never shows, "
                        f'its negative "{negative.words}" {of_negative}',
                    )

    def _count_unseen(self, label: Label, name: str) -> int:
        """The number of bindings or relations of a label that training never shows."""
        if name == "bindings":
            return self._count_untrained(self._bindings[label])
        return sum(triple not in self._trained_triples for triple in self._triples[label])

    def _evaluation_rows(self) -> list[Row]:
        training = self._table.training
        return [row for row in self._table.rows if row.split and row.split not in training]

    def count_rows(self, kind: str) -> list[dict[str, Any]]:
        """Counts rows by how many of their bindings of a kind training never shows: an entry for
        each split, for "no split" and for "all".

        `seen`: none; `partial`: some; `unseen`: all. `seen_unequal` etc. count the rows whose
        number changes if their two objects exchange values. Rows without a binding of the kind are
        not counted.
        """
        counts: dict[str, Counter[str]] = {
            name: Counter() for name in (*self._table.splits, "no split", "all")
        }
        for row in self._table.rows:
            bindings = self._of_kind(row.label, kind)
            if not bindings:
                continue
            n_unseen = self._count_untrained(bindings)
            if n_unseen == 0:
                level = "seen"
            elif n_unseen < len(bindings):
                level = "partial"
            else:
                level = "unseen"
            is_unequal = self._is_unequal(row.label, kind)
            for name in (row.split or "no split", "all"):
                counts[name][level] += 1
                counts[name][f"{level}_unequal"] += is_unequal
        columns = [f"{level}{suffix}" for level in _LEVELS for suffix in ("", "_unequal")]
        entries = []
        for name, own in counts.items():
            if own:
                numbers = {column: own[column] for column in columns}
                entries.append({"split": name, "trains": name in self._table.training, **numbers})
        return entries

    def _count_untrained(self, bindings: Iterable[Binding]) -> int:
        return sum(pair not in self._trained_bindings for pair in bindings)

    def _of_kind(self, label: Label, kind: str) -> list[Binding]:
        return [pair for pair in self._bindings[label] if pair[0] == kind]

    def _is_unequal(self, label: Label, kind: str) -> bool:
        """Whether exchanging the values of the two objects changes how many bindings training never
        shows."""
        bindings = self._of_kind(label, kind)
        # Both objects have one value of the kind, so that they can exchange it.
        n_objects_with_value = 0
        for labelled in label.objects:
            if any(own_kind == kind for own_kind, _ in labelled.attributes):
                n_objects_with_value += 1
        # With another number of values it is open which of them would be exchanged.
        if len(bindings) != 2 or n_objects_with_value != 2:
            return False
        (_, value, category), (_, other_value, other_category) = bindings
        swapped = [(kind, other_value, category), (kind, value, other_category)]
        return self._count_untrained(bindings) != self._count_untrained(swapped)


def _bindings(label: Label) -> list[Binding]:
    """The bindings of a label, in order of mention."""
    bindings = []
    for labelled in label.objects:
        for kind, value in labelled.attributes:
            bindings.append((kind, value, labelled.category))
    return bindings


def _triples(label: Label) -> list[Triple]:
    """The triple of a label; a relation and its converse give the same triple."""
    if label.relation is None:
        return []
    categories = tuple(LabelledObject(labelled.category) for labelled in label.objects)
    arrangement = Label(categories, label.relation).arrangement
    subject, object_ = arrangement.objects
    return [(subject.category, str(arrangement.relation), object_.category)]

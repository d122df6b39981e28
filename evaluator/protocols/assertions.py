"""What texts assert, from their recorded forms: how many held-out combinations they name, and which atoms."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import positions
from generator.dataset.reader import Benchmark

ATOMS = ("attribute", "object", "relation")


@dataclass(frozen=True)
class Assertions:
    """What t texts assert.

    held_out: how many held-out bindings and relation triples each text names (t,), None for a benchmark without a holdout.
    atoms: codes (t, 3), a column for each of ATOMS, equal for texts that name the same of them, equally often.
    """

    held_out: np.ndarray | None
    atoms: np.ndarray


def read_assertions(benchmark: Benchmark, text_ids: Sequence[str]) -> Assertions | None:
    """What texts of a benchmark assert; None where it records no form for one of them."""
    row = positions(pa.chunked_array([text_ids], pa.string()), benchmark.texts["text_id"])
    recorded = benchmark.texts["form"].take(pa.array(row, mask=row < 0)).to_pylist()
    if None in recorded:
        return None
    forms = [json.loads(form) for form in recorded]
    held_out = None
    if benchmark.holdout is not None:
        counts = _Counts(benchmark.holdout)
        held_out = np.array([counts.held_out(form) for form in forms], dtype=int)
    named = [_atoms(form) for form in forms]
    columns = [_codes([atoms[i] for atoms in named]) for i in range(len(ATOMS))]
    return Assertions(held_out, np.stack(columns, axis=1))


class _Counts:
    """Counts the held-out bindings and triples that forms name, as docs/dataset.md says of `held_out_positive`."""

    def __init__(self, holdout: Mapping[str, Any]):
        self._kind, self._category = holdout["kind"], holdout["category"]
        self._bindings = {tuple(binding) for binding in holdout["bindings"]}
        self._triples = {tuple(triple) for triple in holdout["triples"]}

    def held_out(self, form: Mapping[str, Any]) -> int:
        objects = form["objects"]
        triples = [
            (objects[s]["category"], name, objects[o]["category"]) for s, name, o, _ in form.get("relations", ())
        ]
        return sum(map(self._names_binding, objects)) + sum(triple in self._triples for triple in triples)

    def _names_binding(self, mention: Mapping[str, Any]) -> bool:
        # a denial names what it denies: "a cube that is not red" names (red, cube)
        pairs = [*mention["attributes"].items(), *mention.get("without", {}).items()]
        values = [value for kind, value in pairs if kind == self._kind]
        categories = [mention["category"], *(value for kind, value in pairs if kind == self._category)]
        return any((value, category) in self._bindings for value in values for category in categories)


def _atoms(form: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The attributes, objects and relations that a form names, each sorted: which belongs to which is left out."""
    mentions = [mention for mention in form["objects"] for _ in range(max(1, mention.get("count", 1)))]
    attributes = [pair for mention in mentions for pair in mention["attributes"].items()]
    attributes += [("not", *pair) for mention in mentions for pair in mention.get("without", {}).items()]
    objects = [str(mention["category"]) for mention in mentions]
    relations = [(name, holds) for _, name, _, holds in form.get("relations", ())]
    return sorted(attributes), sorted(objects), sorted(relations)


def _codes(values: Sequence[Any]) -> np.ndarray:
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=int)

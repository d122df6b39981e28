"""Faults of what a dataset declares: leaks, the holdout, the vocabulary, and columns of tables."""

import pyarrow as pa
import pyarrow.parquet as pq

from tests.generator.judge.datasets import seal
from tests.generator.judge.faults.catalogue import Plant, add_fault, fault
from tests.generator.judge.faults.edits import edit_vocabulary
from tests.generator.judge.faults.worlds import ALL, RELATED, RELATIONS
from tests.generator.judge.planted import Fault, Planted


@fault()
def exposed_negatives_are_allowed_and_not_declared(data: Planted) -> Fault:
    data.manifest["exposed_negatives"] = True
    return "undeclared leak", "training negatives may name what is held out"


@fault(RELATED)
def an_arrangement_in_two_lists_is_not_declared(data: Planted) -> Fault:
    leak = data.choose(data.manifest["declared_leaks"])
    data.manifest["declared_leaks"].remove(leak)
    return "undeclared leak", f"one arrangement is in two lists: {leak}"


@fault(RELATIONS)
def the_held_out_triples_are_not_closed(data: Planted) -> Fault:
    triple = data.choose(data.block["triples"])
    data.hold_out(triples=[other for other in data.block["triples"] if other != triple])
    return "open holdout", f"holdout.json lacks {' '.join(triple)}"


@fault()
def a_table_has_a_column_more(data: Planted) -> Fault:
    def add() -> None:
        path = data.folder / "items.parquet"
        table = pq.read_table(path)
        pq.write_table(table.append_column("hint", pa.nulls(len(table), pa.string())), path)
        seal(data.folder)

    data.after = add
    return (
        "damaged file",
        "items.parquet cannot be read: it has the column hint, which the format does not have",
    )


LOOK_ALIKES = {
    "a value has the letters of another script": (
        r"(?m)^(red = .*)$",
        '\\1\n"r\u0435d" = { linear = [200, 200, 200] }',
        "CYRILLIC SMALL LETTER IE",
    ),
    "a value has the colour of another": (
        r"(?m)^red = \{ linear = (\[.*?\])(.*)$",
        r"\g<0>\nash = { linear = \1 }",
        "'red' and 'ash' of color look the same",
    ),
    "an object has the mesh of another": (
        r"(?m)^cube = .*$",
        r'\g<0>\nblock = { mesh = "cube" }',
        "'cube' and 'block' have one mesh",
    ),
}
"""By name of a fault: a pattern in the vocabulary, its replacement, and words of the finding."""


def _look_alike(pattern: str, replacement: str, words: str) -> Plant:
    def plant(data: Planted) -> Fault:
        edit_vocabulary(data, pattern, replacement)
        return "look-alike", words

    return plant


for _name, _change in LOOK_ALIKES.items():
    add_fault(_name, ALL, _look_alike(*_change))

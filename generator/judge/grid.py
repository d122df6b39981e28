"""Checks that the pool of the protocol retrieval is the whole grid: every caption of two objects, in both orders."""

import tomllib
from collections.abc import Collection, Iterator

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels, places
from generator.judge.findings import Finding, finding
from generator.judge.meaning import Meaning

_PROTOCOL, _POOL = "retrieval", "grid"


def grid_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Captions that the grid of the vocabulary has and the pool lacks, or the other way, and pools that no item asks.

    A pool without its hard texts would make retrieval easy. Pools of other names are judged for truth alone.
    """
    table = benchmark.tables["pools"]
    named, asked = labels(table["pool_id"]), labels(benchmark.tables["items"]["pool_id"])
    for pool_id in sorted({*named.tolist()} - {*asked.tolist()}, key=str):
        yield finding("wrong pool", f"no item is asked against the pool {pool_id}")
    retrieval = benchmark.protocols == _PROTOCOL
    for item in (retrieval & (asked != _POOL)).nonzero()[0].tolist():
        yield finding(
            "wrong pool", f"item {benchmark.item_id(item)} is asked against the pool {asked[item]}, not {_POOL}"
        )
    if not retrieval.any():
        return
    rows = places(table["text_id"].filter((named == _POOL).tolist()), benchmark.tables["texts"]["text_id"])
    vocabulary, kind = tomllib.loads(benchmark.world.vocabulary), benchmark.held_out.kind
    objects, values = vocabulary["objects"], vocabulary["attributes"][kind]
    there = {benchmark.meanings[row] for row in rows.tolist() if row >= 0} - {None}
    strange = sorted((each for each in there if each and not _of_grid(each, kind, objects, values)), key=str)
    if strange:
        yield finding(
            "wrong pool", f"the pool {_POOL} has {len(strange)} texts that are not of the grid, such as {strange[0]}"
        )
    n, m = len(values), len(objects)
    if (due := n * (n - 1) * m * (m - 1)) != (found := len(there) - len(strange)):
        yield finding("wrong pool", f"the pool {_POOL} has {found} captions of the grid, which has {due}")


def _of_grid(meaning: Meaning, kind: str, objects: Collection[str], values: Collection[str]) -> bool:
    """Whether a text is a caption of two objects that differ in category and in the tested value, and says no more."""
    things = meaning.things
    if len(things) != 2 or meaning != Meaning(things):
        return False
    (one, some, *rest), (two, others, *more) = things
    if rest != [None, 1] or more != [None, 1] or len(some) != 1 or len(others) != 1:
        return False
    pairs = some[0], others[0]
    named = all(of == kind and value in values for of, value in pairs) and one in objects and two in objects
    return named and one != two and pairs[0] != pairs[1]

"""Checks scenes.parquet against the recorded poses: objects, relations, margins, objects in the air."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.judge.geometry import CONTACT, SceneGeometry, Stand, Terms, margin

_TOLERANCE = 1e-5  # metres; records are rounded to the micrometre


def record_faults(table: pa.Table, shown: list[SceneGeometry], terms: Terms) -> Iterator[tuple[int, str]]:
    """Faults of the scenes table as (row, what). `shown`: the scene of each row."""
    yield from _status_faults(table)
    yield from _object_faults(table, shown)
    yield from _strange_objects(shown, terms)
    listed = _Listed.of(table["relations"], shown, terms)
    yield from _missing_relations(listed, shown, terms)
    yield from _wrong_relations(listed, shown, terms)
    yield from _hovering(shown)


def _flat(column: pa.ChunkedArray) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """The entries of a list column: their rows, and their fields by name."""
    lists = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    entries = pc.list_flatten(lists)
    names = [entries.type.field(i).name for i in range(entries.type.num_fields)]
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows, dict(zip(names, entries.flatten(), strict=True))


def _status_faults(table: pa.Table) -> Iterator[tuple[int, str]]:
    for row in np.flatnonzero(table["reason"].is_valid().to_numpy()).tolist():
        yield row, "it is rendered, and says why it failed"


def _strange_objects(shown: list[SceneGeometry], terms: Terms) -> Iterator[tuple[int, str]]:
    """Objects, values and environments that the vocabulary does not have."""
    known: dict[int, str | None] = {}  # equal objects are one in memory (Terms.met)
    for row, scene in enumerate(shown):
        for i, thing in enumerate(scene.objects):
            if id(thing) not in known:
                known[id(thing)] = terms.unknown(*thing)
            if fault := known[id(thing)]:
                yield row, f"object {i} has {fault}"
        if terms.environments and scene.environment not in terms.environments:
            yield row, f"it is in the environment '{scene.environment}', which the vocabulary does not have"


def _object_faults(table: pa.Table, shown: list[SceneGeometry]) -> Iterator[tuple[int, str]]:
    rows, fields = _flat(table["objects"])
    listed = np.bincount(rows, minlength=len(shown))
    before = np.cumsum(listed) - listed
    categories, attributes = fields["category"].to_pylist(), fields["attributes"].to_pylist()
    for n, row in enumerate(rows.tolist()):
        i = n - int(before[row])
        meaning = (categories[n], dict(attributes[n] or ()))
        if i < len(shown[row].objects) and meaning != (posed := shown[row].objects[i]):
            yield row, f"object {i} is listed as {meaning[0]} {meaning[1]}, its pose says {posed[0]} {posed[1]}"
    yield from _measure_faults(table, rows, np.arange(len(rows)) - before[rows], fields)
    for row, scene in enumerate(shown):
        if listed[row] != len(scene.objects):
            yield row, f"{listed[row]} objects are listed and {len(scene.objects)} posed"


def _measure_faults(
    table: pa.Table, rows: np.ndarray, place: np.ndarray, fields: dict[str, pa.Array]
) -> Iterator[tuple[int, str]]:
    """Objects with another index than their place, a box outside the image, or a visible share that is none."""
    wrong = _numbers(fields["index"]) != place
    for n in np.flatnonzero(wrong).tolist():
        yield int(rows[n]), f"object {place[n]} has the index {fields['index'][n]}"
    size = [_numbers(table[name].combine_chunks())[rows] for name in ("width", "height")]
    boxes, valid = fields["amodal_box"], fields["amodal_box"].is_valid().to_numpy(zero_copy_only=False)
    corners = np.full((len(rows), 4), -1, np.int64)
    corners[valid] = _numbers(pc.list_flatten(boxes.filter(pa.array(valid)))).reshape(-1, 4)
    left, top, right, bottom = corners.T
    inside = (left >= 0) & (top >= 0) & (left < right) & (top < bottom) & (right <= size[0]) & (bottom <= size[1])
    for n in np.flatnonzero(~inside).tolist():
        yield int(rows[n]), f"object {place[n]} has the box {boxes[n].as_py()}, which is none within the image"
    share = pc.fill_null(fields["visible_fraction_estimate"], float("nan")).to_numpy(zero_copy_only=False)
    for n in np.flatnonzero(~((share >= 0) & (share <= 1))).tolist():
        yield int(rows[n]), f"object {place[n]} is listed as visible by {share[n]}, not by a share from 0 to 1"


@dataclass(frozen=True)
class _Listed:
    """The relations that the table lists, as arrays with one entry per relation.

    `row`: of the scene. `subject`, `object`: indices of objects; `relation`: its number; -1 if there is none. `margin`:
    metres. `holds`: 1, 0, or -1 for null. `sound`: whether it is a known relation between two objects of the scene.
    """

    row: np.ndarray
    subject: np.ndarray
    relation: np.ndarray
    object: np.ndarray
    margin: np.ndarray
    holds: np.ndarray
    sound: np.ndarray

    @classmethod
    def of(cls, column: pa.ChunkedArray, shown: list[SceneGeometry], terms: Terms) -> "_Listed":
        row, fields = _flat(column)
        subject, thing = _numbers(fields["subject"]), _numbers(fields["object"])
        names = pa.array(list(terms.relations), pa.string())
        relation = _numbers(pc.index_in(fields["relation"], value_set=names))
        size = _sizes(shown)[row]
        sound = (subject >= 0) & (subject < size) & (thing >= 0) & (thing < size) & (subject != thing) & (relation >= 0)
        margin = pc.fill_null(fields["margin"], float("nan")).to_numpy(zero_copy_only=False)
        return cls(row, subject, relation, thing, margin, _numbers(fields["holds"]), sound)


def _numbers(column: pa.Array) -> np.ndarray:
    """The column as int64, -1 for null."""
    return np.asarray(pc.fill_null(pc.cast(column, pa.int64()), -1).to_numpy(zero_copy_only=False))


def _sizes(shown: list[SceneGeometry]) -> np.ndarray:
    return np.array([len(scene.objects) for scene in shown], np.int64)


def _missing_relations(listed: _Listed, shown: list[SceneGeometry], terms: Terms) -> Iterator[tuple[int, str]]:
    """Scenes that do not list every relation of every ordered pair of objects exactly once."""
    sizes = _sizes(shown)
    widest = int(sizes.max(initial=0))
    key = ((listed.row * widest + listed.subject) * widest + listed.object) * len(terms.relations) + listed.relation
    _, kept = np.unique(key[listed.sound], return_index=True)
    distinct = np.bincount(listed.row[listed.sound][kept], minlength=len(shown))
    number = np.bincount(listed.row, minlength=len(shown))
    due = sizes * (sizes - 1) * len(terms.relations)
    for row in np.flatnonzero((distinct != due) | (number != due)).tolist():
        yield row, f"{number[row]} relations are listed, not one for each ordered pair and relation"


def _wrong_relations(listed: _Listed, shown: list[SceneGeometry], terms: Terms) -> Iterator[tuple[int, str]]:
    """Relations whose margin or truth differs from that of the poses."""
    which = np.flatnonzero(listed.sound)
    if not len(which):
        return
    sizes, names = _sizes(shown), list(terms.relations)
    relation, subject, thing = listed.relation[which], listed.subject[which], listed.object[which]
    first = (np.cumsum(sizes) - sizes)[listed.row[which]]
    stands = np.array([stand for scene in shown for stand in scene.stands()]).reshape(-1, 5)
    margins = np.empty(len(which))
    for n, rule in enumerate(terms.relations.values()):
        own = relation == n
        ends = (Stand(*stands[(first + end)[own]].T) for end in (subject, thing))
        margins[own] = margin(rule, *ends)
    least = np.array([rule.margin for rule in terms.relations.values()])[relation]
    holds = np.where(np.abs(margins) < least, -1, margins > 0)
    wrong = ~(np.abs(margins - listed.margin[which]) <= _TOLERANCE) | (holds != listed.holds[which])
    truths = {-1: None, 0: False, 1: True}
    for n in np.flatnonzero(wrong).tolist():
        entry = int(which[n])
        yield (
            int(listed.row[entry]),
            f"object {subject[n]} {names[relation[n]]} of object {thing[n]} is listed as "
            f"{truths[int(listed.holds[entry])]} by {listed.margin[entry]} m, the poses say {truths[int(holds[n])]} by {margins[n]:.6f} m",
        )


def _hovering(shown: list[SceneGeometry]) -> Iterator[tuple[int, str]]:
    """Objects above or below the ground that rest on no other object."""
    for row, scene in enumerate(shown):
        for i, foot in enumerate(scene.feet):
            if abs(foot) > CONTACT and not any(scene.resting(i, j) > 0 for j in range(len(scene.feet)) if j != i):
                yield row, f"object {i} stands {foot:.6f} m above the ground and rests on no object"

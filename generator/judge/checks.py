"""The checks of a benchmark, one function a promise: each yields what it finds wrong."""

import hashlib
import json
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from generator.judge.balance import spread_findings
from generator.judge.case import FALSE, TRUE, UNDECIDED, UNREADABLE, Case, values
from generator.judge.class_lists import class_findings
from generator.judge.declared_leaks import declared_findings
from generator.judge.files import Finding, finding, repeated
from generator.judge.geometry import Shown
from generator.judge.leaks import leak_findings
from generator.judge.meaning import Said
from generator.judge.pools import pool_findings
from generator.judge.recorded_labels import listed_findings
from generator.judge.split_membership import split_findings
from generator.judge.symmetry import symmetry_findings
from generator.judge.words import UnreadableError, read_sentence


def _world_digest(case: Case) -> Iterator[Finding]:
    if case.manifest.get("world") != case.world.digest:
        yield finding("another world", "the benchmark was made over a world with other files; run `gen split` again")


def _texts(case: Case) -> Iterator[Finding]:
    """Every text has its content hash and stands once; what it says is its form and its counts."""
    table = case.tables["texts"]
    digests = array("Q")
    columns = [values(table[name]) for name in ("text_id", "text", "form", *_COUNTED)]
    for said, (text_id, text, form, *counts) in zip(case.claims, zip(*columns, strict=True), strict=True):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        digests.append(int(digest, 16))
        if digest != text_id:
            yield finding("wrong text id", f"text {text_id} '{text}' has another content hash")
        if said is None:
            try:
                read_sentence(text, case.lexicon)
            except UnreadableError as error:
                yield finding("unreadable text", f"text {text_id}: {error}")
        else:
            for fault in _form_faults(said, form, counts):
                yield finding("wrong form", f"text {text_id} '{text}': {fault}")
    _, first, number = np.unique(np.asarray(digests), return_index=True, return_counts=True)
    for row in first[number > 1].tolist():
        yield finding("repeated text", f"more than one text is '{case.text(row)}'")


_COUNTED = ("level", "n_objects", "n_attributes", "n_relations")


def _form_faults(said: Said, form: str | None, counts: list[Any]) -> Iterator[str]:
    found = [said.level, said.n_objects, said.n_attributes, len(said.links)]
    if counts != found:
        listed = ", ".join(f"{name} {count}" for name, count in zip(_COUNTED, counts, strict=True))
        yield f"it is listed with {listed}; its words give {', '.join(map(str, found))}"
    if form is None:
        return
    try:
        same = json.loads(form) == said.to_dict()
    except ValueError:
        same = False
    if not same:
        yield f"its form is {form}, its words say {json.dumps(said.to_dict(), separators=(',', ':'))}"


def _items(case: Case) -> Iterator[Finding]:
    """Every item has a true text, a false one or a pool, and stands in the split of its scenes."""
    items, rows = case.tables["items"], case.candidates
    for item_id in repeated(items["item_id"]):
        yield finding("repeated item", f"item {item_id} stands in items.parquet more than once")
    known = rows.item >= 0
    scene_split = np.array([*(case.split_of.get(scene_id) for scene_id in case.scene_ids), None], dtype=object)
    split, expected = scene_split[rows.scene], case.item_split[rows.item] if len(items) else rows.item
    for row in np.flatnonzero(known & (split != expected)).tolist():
        yield finding(
            "wrong split",
            f"item {case.item_id(rows.item[row])} is in {expected[row]}, its scene {case.scene_id(row)} in {split[row] or 'no split'}",
        )
    true = np.bincount(rows.item[known & rows.truth], minlength=len(items)) > 0
    false = np.bincount(rows.item[known & ~rows.truth], minlength=len(items)) > 0
    asks = (case.item_split == "train") | items["pool_id"].is_valid().to_numpy() | false
    for item in np.flatnonzero(~true).tolist():
        yield finding("missing row", f"item {case.item_id(item)} has no true text")
    for item in np.flatnonzero(~asks).tolist():
        yield finding("missing row", f"item {case.item_id(item)} has neither a false text nor a pool")


def _truth(case: Case) -> Iterator[Finding]:
    """Every true text is true of its scene and every false one false, and none is undecided."""
    rows, verdicts = case.candidates, case.verdicts
    right = (verdicts == np.where(rows.truth, TRUE, FALSE)) | (verdicts == UNREADABLE)
    missing = (rows.item < 0) | (rows.scene < 0) | (rows.text < 0)
    for row in np.flatnonzero(missing | ~right).tolist():
        where = f"item {case.listed(row, 'item_id')}, scene {case.scene_id(row)}"
        if missing[row]:
            yield finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        kind = case.listed(row, "kind")
        text = f"'{case.text(rows.text[row])}'" + (f" ({kind})" if kind else "")
        listed = f"{where}: {text} is listed as {'true' if rows.truth[row] else 'false'}"
        shown = _words(case.shown[rows.scene[row]])
        if verdicts[row] == UNDECIDED:
            yield finding("undecided text", f"{listed}, and is neither; the scene shows {shown}")
        else:
            yield finding(
                "false positive" if rows.truth[row] else "true negative", f"{listed}; the scene shows {shown}"
            )


def _words(shown: Shown) -> str:
    return " and ".join(f"{' '.join(values.values())} {category}" for category, values in shown.objects)


CHECKS = (
    _world_digest, _texts, split_findings, class_findings, _items, leak_findings, declared_findings, _truth, symmetry_findings,
    pool_findings, listed_findings, spread_findings,
)  # fmt: skip

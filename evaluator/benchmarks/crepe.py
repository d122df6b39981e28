"""Reads CREPE's hard negatives (Ma et al. 2023), systematicity and productivity: each row has the
caption of a region and several negatives."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import Record, box_of, files_under, records_of
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_PRODUCTIVITY = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_(\d+)")
_SYSTEMATICITY = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_(\w+)")
_KINDS = {"atom": "atom", "swap": "swap", "negate": "neg"}
_BOX = ("x", "y", "width", "height")
_FOLDERS = ("VG_100K", "VG_100K_2")
NO_NEGATIVE = "it has no negative of this kind"
CORPUS = "corpus"
"""Label of systematicity's questions: the training corpus."""
BOTH = "both"


def read_crepe(path: Path) -> Iterator[Question]:
    """Yields the questions of files with their published names. A productivity caption with
    negatives of all three kinds is also asked with all negatives; a systematicity caption is also
    asked with both kinds.

    Raises UserError for files with other names, and as `records_of`.
    """
    texts_of: dict[tuple[str, ...], dict[str, Question]] = defaultdict(dict)
    for file in files_under(path, (".csv", ".json")):
        if found := _PRODUCTIVITY.fullmatch(file.stem):
            kind, n = _KINDS[found[1]], int(found[2])
            for record in records_of(file):
                question = _question(
                    record, "productivity", kind, _negatives(record, "hard_negs"), n=n
                )
                if not question.excluded:
                    texts_of[(str(n), question.images[0].id, question.texts[0])][kind] = question
                yield question
        elif found := _SYSTEMATICITY.fullmatch(file.stem):
            for record in records_of(file):
                yield from _systematicity(record, found[1], found[2])
        else:
            raise UserError(
                f"{file} is no file of CREPE: expected prod_vg_hard_negs_KIND_complexity_N or "
                f"syst_vg_hard_negs_SPLIT_compounds_in_CORPUS."
            )
    for of_kind in texts_of.values():
        if len(of_kind) == len(_KINDS):
            yield _of_all_kinds(of_kind)


def _systematicity(record: Record, split: str, corpus: str) -> Iterator[Question]:
    negatives = {kind: _negatives(record, f"valid_hard_negs_{kind}") for kind in ("atom", "comp")}
    negatives[BOTH] = [*negatives["atom"], *negatives["comp"]] if all(negatives.values()) else []
    for kind, texts in negatives.items():
        yield _question(record, "systematicity", kind, texts, split=split, corpus=corpus)


def _question(
    record: Record,
    protocol: str,
    kind: str,
    negatives: list[str],
    split: str = "",
    n: int | None = None,
    corpus: str = "",
) -> Question:
    image = record.text("image_id")
    shown = Shown(
        (*(f"{folder}/{image}.jpg" for folder in _FOLDERS), f"{image}.jpg"),
        box=box_of(record, _BOX),
    )
    return Question(
        f"{record.file.stem}/{record.key}/{kind}",
        (shown,),
        (record.text("caption"), *negatives),
        place=record.place,
        file=record.file,
        kind=kind,
        split=split,
        protocol=protocol,
        counts=(n, None, None),
        again=kind == BOTH,
        labels={CORPUS: corpus} if corpus else {},
        excluded="" if negatives else NO_NEGATIVE,
    )


def _of_all_kinds(of_kind: dict[str, Question]) -> Question:
    first = next(iter(of_kind.values()))
    return replace(
        first,
        item=f"{first.item.rsplit('/', 1)[0]}/all",
        texts=(first.texts[0], *(text for each in of_kind.values() for text in each.texts[1:])),
        kind="all",
        again=True,
    )


def _negatives(record: Record, column: str) -> list[str]:
    """The distinct texts of a list: JSON, or in CSV a Python literal. Raises UserError for anything
    else."""
    value: Any = record.value(column)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
    if not isinstance(value, list | tuple) or not all(
        isinstance(each, str) and each for each in value
    ):
        raise UserError(
            f"{record.place} has {record.value(column)!r:.80} as its '{column}'; expected a list "
            f"of texts."
        )
    return list(dict.fromkeys(value))

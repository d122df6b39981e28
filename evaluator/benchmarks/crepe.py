"""Reads CREPE's hard negatives (Ma et al. 2023), systematicity and productivity: each row has the
caption of a region and several negatives."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import Record, box_of, files_under, records_of
from evaluator.benchmarks.question import (
    ImageRef,
    Omissions,
    PublishedQuestion,
    QuestionLabels,
    TextDetails,
)
from generator.base.errors import UserError

_PRODUCTIVITY = re.compile(r"prod_vg_hard_negs_(atom|swap|negate)_complexity_(\d+)")
_SYSTEMATICITY = re.compile(r"syst_vg_hard_negs_(seen|unseen)_compounds_in_(\w+)")
"""The names of the files of both parts."""
_KINDS = {"atom": "atom", "swap": "swap", "negate": "neg"}
"""Kind of negatives in a file's name → the kind in results."""
_BOX_COLUMNS = ("x", "y", "width", "height")
"""The columns of the box that is shown of an image."""
_IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")
"""The folders of Visual Genome's images."""
NO_NEGATIVE = "it has no negative of this kind"
CORPUS = "corpus"
"""Label of systematicity's questions: the training corpus."""
BOTH, ALL = "both", "all"
"""Kinds of questions that ask a caption with the negatives of all its other questions."""

_Caption = tuple[int, str, str]
"""A productivity caption: its number of atoms, the id of its image, and its text."""


def read_crepe(path: Path) -> Iterator[PublishedQuestion]:
    """Yield the questions of files with their published names.

    A productivity caption with negatives of all three kinds is also asked with all negatives; a
    systematicity caption is also asked with both kinds.

    Raises:
        UserError: A file has another name, or as `records_of`.
    """
    questions_of_caption: dict[_Caption, dict[str, PublishedQuestion]] = defaultdict(dict)
    for file in files_under(path, (".csv", ".json")):
        productivity = _PRODUCTIVITY.fullmatch(file.stem)
        systematicity = _SYSTEMATICITY.fullmatch(file.stem)
        if productivity:
            form = _Form("productivity", _KINDS[productivity[1]], atoms=int(productivity[2]))
            for record in records_of(file):
                question = _question(record, form, _read_negatives(record, "hard_negs"))
                # A question without negatives cannot be one of the three kinds that the question
                # with all negatives needs.
                if not question.omissions.excluded:
                    caption = int(productivity[2]), question.images[0].id, question.texts[0]
                    questions_of_caption[caption][form.kind] = question
                yield question
        elif systematicity:
            for record in records_of(file):
                yield from _systematicity_questions(record, systematicity[1], systematicity[2])
        else:
            raise UserError(
                f"{file} is not a file of CREPE: expected prod_vg_hard_negs_KIND_complexity_N or "
                f"syst_vg_hard_negs_SPLIT_compounds_in_CORPUS."
            )
    for question_of_kind in questions_of_caption.values():
        # CREPE asks with fifteen negatives only captions that have all three kinds (figure 5).
        if len(question_of_kind) == len(_KINDS):
            yield _question_of_all_kinds(question_of_kind)


@dataclass(frozen=True)
class _Form:
    """What the questions of one file, or one kind of negatives, have in common."""

    protocol: str
    """productivity or systematicity."""
    kind: str
    """The kind of negatives."""
    split: str = ""
    """seen or unseen; "" for productivity."""
    atoms: int | None = None
    """Number of atoms of the caption; None for systematicity."""
    corpus: str = ""
    """The training corpus; "" for productivity."""


def _systematicity_questions(
    record: Record, split: str, corpus: str
) -> Iterator[PublishedQuestion]:
    """The questions of a row: with negatives of each kind, and with both kinds."""
    negatives = {
        kind: _read_negatives(record, f"valid_hard_negs_{kind}") for kind in ("atom", "comp")
    }
    has_both = all(negatives.values())
    # Without one kind the set would be smaller than the others, and chance another.
    negatives[BOTH] = [*negatives["atom"], *negatives["comp"]] if has_both else []
    for kind, texts in negatives.items():
        form = _Form("systematicity", kind, split=split, corpus=corpus)
        yield _question(record, form, texts)


def _question(record: Record, form: _Form, negatives: list[str]) -> PublishedQuestion:
    file = f"{record.text('image_id')}.jpg"
    image_names = (*(f"{folder}/{file}" for folder in _IMAGE_FOLDERS), file)
    return PublishedQuestion(
        item=f"{record.file.stem}/{record.key}/{form.kind}",
        images=(ImageRef(image_names, box=box_of(record, _BOX_COLUMNS)),),
        texts=(record.text("caption"), *negatives),
        protocol=form.protocol,
        origin=record.origin,
        labels=QuestionLabels(
            kind=form.kind,
            split=form.split,
            filterable={CORPUS: form.corpus} if form.corpus else {},
        ),
        # CREPE counts atoms of all types together; they stand where other benchmarks count objects.
        details=TextDetails(counts=(form.atoms, None, None)),
        omissions=Omissions(
            excluded="" if negatives else NO_NEGATIVE, is_duplicate=form.kind == BOTH
        ),
    )


def _question_of_all_kinds(question_of_kind: Mapping[str, PublishedQuestion]) -> PublishedQuestion:
    """The question of a caption with the negatives of all its questions."""
    questions = list(question_of_kind.values())
    first = questions[0]
    negatives = [text for question in questions for text in question.texts[1:]]
    return replace(
        first,
        item=f"{first.item.rsplit('/', 1)[0]}/{ALL}",
        texts=(first.texts[0], *negatives),
        labels=replace(first.labels, kind=ALL),
        omissions=replace(first.omissions, is_duplicate=True),
    )


def _read_negatives(record: Record, column: str) -> list[str]:
    """The distinct texts of a list: JSON, or in CSV a Python literal. Raises UserError for anything
    else."""
    texts: Any = record.value(column)
    if isinstance(texts, str):
        try:
            texts = ast.literal_eval(texts)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            texts = None
    is_list = isinstance(texts, list | tuple)
    if not is_list or not all(isinstance(text, str) and text for text in texts):
        raise UserError(
            f"{record.place} has {record.value(column)!r:.80} as its '{column}'; expected a list "
            f"of texts."
        )
    return list(dict.fromkeys(texts))

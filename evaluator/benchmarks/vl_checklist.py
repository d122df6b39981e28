"""Reads VL-CheckList (Zhao et al. 2022): JSON lists of an image's name and its true and false
captions, in a folder for each capability."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import files_under, json_rows
from evaluator.benchmarks.question import (
    ImageRef,
    Omissions,
    Origin,
    PublishedQuestion,
    QuestionLabels,
)
from generator.base.errors import UserError

_CORPORA = ("vaw", "vg", "hake", "swig")
_ASPECTS = ("Attribute", "Object", "Relation")
EMPTY = "a file without questions"
_IMAGE_FOLDERS = {"vaw": "vg"}
"""Corpus → image folder, if its name differs: VAW's images are Visual Genome's."""


def read_vl_checklist(path: Path) -> Iterator[PublishedQuestion]:
    """Yield the questions of a file, or of all files below a folder such as `data`.

    The kind is one of the 13 capabilities. The skill is the corpus, and for objects with several
    roles also the role. A file without rows (three published files) counts as an excluded question.

    Raises:
        UserError: A row has another form, or a file is outside the capabilities' folders.
    """
    # Resolved, because the capability is read from the folders above a file, which a relative path
    # may lack.
    for file in files_under(path.resolve(), (".json",)):
        kind, skill = _parse_path(file)
        labels = QuestionLabels(kind=kind, skill=skill)
        rows = json_rows(file, may_be_empty=True)
        for key, row in rows:
            yield _question(file, key, row=row, labels=labels)
        if not rows:
            yield PublishedQuestion(
                item=f"{kind}/{skill}",
                images=(),
                texts=(),
                origin=Origin(str(file), file),
                omissions=Omissions(excluded=EMPTY),
            )


def _question(file: Path, key: str, *, row: Any, labels: QuestionLabels) -> PublishedQuestion:
    place = f"Row {key} of {file}"
    match row:
        case [str(name), {"POS": [*true], "NEG": [*false]}]:
            has_texts = bool(true and false)
        case _:
            has_texts = False
    if not has_texts or not all(isinstance(text, str) for text in (*true, *false)):
        raise UserError(
            f'Expected [image, {{"POS": [texts], "NEG": [texts]}}] as row {key} of {file}, got '
            f"{row!r:.80}; give the files that the authors publish."
        )
    corpus = labels.skill.split("/")[0]
    folder = _IMAGE_FOLDERS.get(corpus, corpus)
    return PublishedQuestion(
        item=f"{labels.kind}/{labels.skill}/{key}".replace(" ", "/"),
        images=(ImageRef((f"{folder}/{name}", name)),),
        texts=(*true, *false),
        truth=((*[True] * len(true), *[False] * len(false)),),
        origin=Origin(place, file),
        labels=labels,
    )


def _parse_path(file: Path) -> tuple[str, str]:
    """The capability and the corpus of a file, from its name and folders:
    data/Attribute/vg/color.json, data/Object/Size/swig_size/swig_agent/swig_agent_large.json,
    data/Relation/swig_action.json."""
    words = file.stem.split("_")
    aspects = [name for name in _ASPECTS if name in file.parts]
    corpora = [name for name in _CORPORA if name in (words[0], file.parent.name)]
    if not aspects or not corpora:
        raise UserError(
            f"{file} is not a file of VL-CheckList: expected one below Attribute, Object or "
            f"Relation, in a folder or with a name of {', '.join(_CORPORA)}."
        )
    aspect, corpus = aspects[0], corpora[0]
    if aspect != "Object":
        return f"{aspect} {words[-1]}", corpus
    measures = [name for name in ("Location", "Size") if name in file.parts]
    measure = measures[0] if measures else "Object"
    # The words between corpus and value name the role, such as agent in swig_agent_large.
    role = list(dict.fromkeys([corpus, *words[1:-1]]))
    return f"Object {measure} {words[-1]}", "/".join(role)

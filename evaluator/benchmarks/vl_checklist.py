"""Reads VL-CheckList (Zhao et al. 2022): JSON lists of an image's name and its true and false
captions, in a folder for each capability."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import files_under, json_rows
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_CORPORA = ("vaw", "vg", "hake", "swig")
EMPTY = "a file without questions"
_IMAGES = {"vaw": "vg"}
"""Corpus → image folder, if its name differs: VAW's images are Visual Genome's."""


def read_vl_checklist(path: Path) -> Iterator[Question]:
    """Yields the questions of a file, or of all files below a folder such as `data`. kind: one of
    the 13 capabilities. skill: the corpus, and for objects with several roles the role. A file
    without rows (three published files) counts as an excluded question. Raises UserError for rows
    of another form and files outside the capabilities' folders.
    """
    for file in files_under(path.resolve(), (".json",)):
        kind, skill = _capability(file)
        rows = json_rows(file, empty=True)
        for key, row in rows:
            yield _question(file, key, row, kind, skill)
        if not rows:
            yield Question(f"{kind}/{skill}", (), (), (), str(file), file, excluded=EMPTY)


def _question(file: Path, key: str, row: Any, kind: str, skill: str) -> Question:
    place = f"Row {key} of {file}"
    match row:
        case [str(name), {"POS": [*true], "NEG": [*false]}] if (
            true and false and all(isinstance(each, str) for each in (*true, *false))
        ):
            pass
        case _:
            raise UserError(
                f'Expected [image, {{"POS": [texts], "NEG": [texts]}}] as row {key} of {file}, got '
                f"{row!r:.80}; give "
                f"the files that the "
                "authors publish."
            )
    corpus = skill.split("/")[0]
    shown = Shown((f"{_IMAGES.get(corpus, corpus)}/{name}", name))
    return Question(
        f"{kind}/{skill}/{key}".replace(" ", "/"),
        (shown,),
        (*true, *false),
        ((*[True] * len(true), *[False] * len(false)),),
        place,
        file,
        kind=kind,
        skill=skill,
    )


def _capability(file: Path) -> tuple[str, str]:
    """The capability and the corpus of a file, from its name and folders:
    data/Attribute/vg/color.json, data/Object/Size/swig_size/swig_agent/swig_agent_large.json,
    data/Relation/swig_action.json."""
    aspect = next(
        (name for name in ("Attribute", "Object", "Relation") if name in file.parts), None
    )
    words = file.stem.split("_")
    corpus = next((name for name in _CORPORA if name in (words[0], file.parent.name)), None)
    if aspect is None or corpus is None:
        raise UserError(
            f"{file} is no file of VL-CheckList: expected one below Attribute, Object or Relation, "
            f"in a folder or with a name of {', '.join(_CORPORA)}."
        )
    if aspect != "Object":
        return f"{aspect} {words[-1]}", corpus
    measure = next((name for name in ("Location", "Size") if name in file.parts), "Object")
    return f"Object {measure} {words[-1]}", "/".join(dict.fromkeys([corpus, *words[1:-1]]))

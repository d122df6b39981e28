"""Reads Pearson et al. 2025: a CSV file of prompts for each label, and a folder of images for each
label."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.benchmarks.files import files_under, records_of
from evaluator.benchmarks.question import Question

NO_TRUTH = "its prompts lack its label"
ALSO_TRUE = "a wrong label that is true of the image"
_OPPOSITE = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class _Label:
    """The true label of some images. also_true: other labels that are true of these images. hard:
    hard negative → its kind of error."""

    name: str
    kind: str
    cluster: str
    also_true: tuple[str, ...]
    hard: dict[str, str]


def read_pearson(path: Path) -> Iterator[Question]:
    """Yields a question for each label, to be asked of each image in its folders: "a photo of a red
    cube" against the other prompts of its file. File names give the label, such as
    red_cube_blue_sphere.csv or cube_left_sphere.csv; one file has all single objects. Drops other
    true prompts. Scenes of the same objects are one cluster.

    Raises UserError for a file without the column class_name.
    """
    for file in files_under(path, (".csv",)):
        names = list(dict.fromkeys(record.text("class_name") for record in records_of(file)))
        for label in _labels(file.stem, names):
            yield _question(file, label, names)


def _labels(stem: str, names: list[str]) -> list[_Label]:
    match stem.split("_"):
        case [color, shape, color2, shape2]:
            hard = {f"{color2} {shape}": "color", f"{color} {shape2}": "shape"}
            cluster = " ".join([*sorted((color, color2)), *sorted((shape, shape2))])
            return [
                _Label(f"{color} {shape}", "two-object", cluster, (f"{color2} {shape2}",), hard)
            ]
        case [shape, ("left" | "right") as relation, other]:
            opposite = _OPPOSITE[relation]
            hard = {f"{shape} {opposite} {other}": "flip", f"{other} {relation} {shape}": "order"}
            converse = f"{other} {opposite} {shape}"
            return [
                _Label(
                    f"{shape} {relation} {other}",
                    "relational",
                    " ".join(sorted((shape, other))),
                    (converse,),
                    hard,
                )
            ]
    return [_Label(name, "single", name, (), dict.fromkeys(names, "label")) for name in names]


def _question(file: Path, label: _Label, names: list[str]) -> Question:
    wrong = [name for name in names if name not in (label.name, *label.also_true)]
    stem = label.name if label.kind == "single" else file.stem
    return Question(
        stem,
        (),
        tuple(_prompt(name) for name in (label.name, *wrong)),
        place=f"The prompts of '{label.name}' in {file}",
        file=file,
        cluster=label.cluster,
        kind=label.kind,
        protocol="gzsl",
        candidate_kinds=("", *(label.hard.get(name, "distractor") for name in wrong)),
        excluded="" if label.name in names else NO_TRUTH,
        lacking=(ALSO_TRUE,) * (len(names) - len(wrong) - (label.name in names)),
        folders=tuple(dict.fromkeys((f"{stem}/{label.name}", stem, label.name))),
    )


def _prompt(name: str) -> str:
    """
    >>> _prompt("red cube"), _prompt("cube left sphere")
    ('a photo of a red cube', 'a photo of a cube to the left of a sphere')
    """
    words = name.split()
    related = len(words) == 3 and words[1] in _OPPOSITE
    return f"a photo of a {f'{words[0]} to the {words[1]} of a {words[2]}' if related else name}"

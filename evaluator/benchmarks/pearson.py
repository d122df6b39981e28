"""Reads Pearson et al. 2025: a CSV file of prompts for each label, and a folder of images for each
label."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.benchmarks.files import files_under, records_of
from evaluator.benchmarks.question import (
    Omissions,
    Origin,
    PublishedQuestion,
    QuestionLabels,
    TextDetails,
)

NO_TRUTH = "its prompts lack its label"
ALSO_TRUE = "a wrong label that is true of the image"
_OPPOSITES = {"left": "right", "right": "left"}
_SINGLE = "single"
"""The kind of the labels of single objects, which share a file."""


@dataclass(frozen=True)
class _Label:
    """The true label of some images."""

    name: str
    """The label, such as "red cube" or "cube left sphere"."""
    kind: str
    """single, two-object or relational."""
    cluster: str
    """Equal for labels of the same objects."""
    also_true: tuple[str, ...]
    """Other labels that are true of these images."""
    hard_negatives: dict[str, str]
    """Wrong label → its kind of error; labels that are not listed are distractors."""


def read_pearson(path: Path) -> Iterator[PublishedQuestion]:
    """Yield a question for each label, about each image in its folders: "a photo of a red cube"
    against the other prompts of its file.

    File names give the label, such as red_cube_blue_sphere.csv or cube_left_sphere.csv; one file
    has all single objects. Drops other true prompts. Scenes of the same objects are one cluster.

    Raises:
        UserError: A file has no column class_name.
    """
    for file in files_under(path, (".csv",)):
        names = list(dict.fromkeys(record.text("class_name") for record in records_of(file)))
        for label in _parse_labels(file.stem, names):
            yield _question(file, label, names)


def _parse_labels(file_name: str, names: list[str]) -> list[_Label]:
    """The labels that a file asks about. names: all labels in the file."""
    match file_name.split("_"):
        # The label is the first-named object; the other object's own label is true as well.
        case [color, shape, color2, shape2]:
            colors = sorted((color, color2))
            shapes = sorted((shape, shape2))
            two_objects = _Label(
                name=f"{color} {shape}",
                kind="two-object",
                cluster=" ".join(colors + shapes),
                also_true=(f"{color2} {shape2}",),
                hard_negatives={f"{color2} {shape}": "color", f"{color} {shape2}": "shape"},
            )
            return [two_objects]
        case [shape, ("left" | "right") as relation, shape2]:
            opposite = _OPPOSITES[relation]
            relational = _Label(
                name=f"{shape} {relation} {shape2}",
                kind="relational",
                cluster=" ".join(sorted((shape, shape2))),
                also_true=(f"{shape2} {opposite} {shape}",),
                hard_negatives={
                    f"{shape} {opposite} {shape2}": "flip",
                    f"{shape2} {relation} {shape}": "order",
                },
            )
            return [relational]
    return [_Label(name, _SINGLE, name, (), dict.fromkeys(names, "label")) for name in names]


def _question(file: Path, label: _Label, names: list[str]) -> PublishedQuestion:
    # The published files have distractors that are true of the image; counted as wrong, they would
    # punish right answers.
    wrong = [name for name in names if name not in (label.name, *label.also_true)]
    has_truth = label.name in names
    dropped = len(names) - len(wrong) - has_truth
    # Single objects share a file, so the label itself names the question and its folder.
    item = label.name if label.kind == _SINGLE else file.stem
    error_kinds = [label.hard_negatives.get(name, "distractor") for name in wrong]
    return PublishedQuestion(
        item=item,
        images=(),
        texts=tuple(_prompt(name) for name in (label.name, *wrong)),
        protocol="gzsl",
        image_folders=tuple(dict.fromkeys((f"{item}/{label.name}", item, label.name))),
        origin=Origin(f"The prompts of '{label.name}' in {file}", file),
        labels=QuestionLabels(kind=label.kind, cluster=label.cluster),
        details=TextDetails(error_kinds=("", *error_kinds)),
        omissions=Omissions(
            excluded="" if has_truth else NO_TRUTH, dropped_texts=(ALSO_TRUE,) * dropped
        ),
    )


def _prompt(name: str) -> str:
    """
    >>> _prompt("red cube"), _prompt("cube left sphere")
    ('a photo of a red cube', 'a photo of a cube to the left of a sphere')
    """
    match name.split():
        case [first, ("left" | "right") as relation, second]:
            return f"a photo of a {first} to the {relation} of a {second}"
    return f"a photo of a {name}"

"""Which form, track and world of a suite a dataset is (`gen suite` writes suite.json beside its
datasets)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.submissions.records import FormRecord
from generator.base.paths import folder_in
from generator.dataset.reader import Dataset
from generator.suite.record import is_suite, read_record

STANDARD = "standard"
"""The form of the published seeds."""
_DIGITS = 8
"""Digits of a digest that name a form without a suite."""


@dataclass(frozen=True, order=True)
class Form:
    """A form of a suite: datasets of one seed. Results on different forms differ in their
    difficulty."""

    suite: str
    """Name of the suite; "" for a dataset of no suite."""
    version: str
    """Its version; "" for none."""
    part: str
    """The part of the suite; "" for none."""
    name: str
    """`standard`, `fresh-SEED`, or for a dataset of no suite `dataset` and digits of its digest."""

    @property
    def title(self) -> str:
        """The form in words, such as `jackalope-1 (tiny), form standard`."""
        if not self.suite:
            return self.name
        return f"{self.suite}-{self.version} ({self.part}), form {self.name}"

    @property
    def is_standard(self) -> bool:
        """Whether it is the form of the published seeds."""
        return self.name == STANDARD

    def record(self) -> FormRecord:
        """Make the record of the form.

        Returns:
            The entry of a submission.
        """
        return FormRecord(suite=self.suite, version=self.version, part=self.part, form=self.name)

    @classmethod
    def of_record(cls, record: FormRecord) -> "Form":
        """Read the record of a form.

        Args:
            record: The entry of a submission.

        Returns:
            The form.
        """
        return cls(record["suite"], record["version"], record["part"], record["form"])


@dataclass(frozen=True, order=True)
class Place:
    """Where a dataset belongs."""

    form: Form
    """The form of its suite."""
    track: str
    """The track; "" for a dataset of no suite."""
    world: str
    """The world of the track; "" for a dataset of no suite."""

    @property
    def title(self) -> str:
        """Track and world, such as `bind/color`; "" for a dataset of no suite."""
        return f"{self.track}/{self.world}".strip("/")


@dataclass(frozen=True)
class PlacedDataset:
    """A dataset, and where it belongs."""

    dataset: Dataset
    """The dataset."""
    place: Place
    """Its place."""


def place_of(dataset: Dataset) -> Place:
    """Find where a dataset belongs.

    Args:
        dataset: A dataset; in a folder that `gen suite` wrote, it is SUITE/TRACK/WORLD.

    Returns:
        Its place. A dataset without a suite.json two folders above is a form of its own.

    Raises:
        UserError: suite.json is damaged.
    """
    root = dataset.root.resolve()
    suite_folder = root.parent.parent
    title = f"{root.parent.name}/{root.name}"
    if is_suite(suite_folder):
        record = read_record(suite_folder)
        # A dataset that the record does not list was put there by hand, and is a form of its own.
        if title in record["worlds"]:
            form = Form(record["suite"], str(record["version"]), record["part"], record["form"])
            return Place(form, root.parent.name, root.name)
    alone = Form("", "", "", f"dataset {dataset.world.digest[:_DIGITS]}")
    return Place(alone, "", "")


def open_datasets(folders: Sequence[Path]) -> list[PlacedDataset]:
    """Open datasets and their places.

    Args:
        folders: Folders of datasets, or of suites (`gen suite`), of which all datasets are opened.
            Images may be missing.

    Returns:
        The datasets.

    Raises:
        UserError: A folder is neither, or is damaged.
    """
    placed = []
    for folder in folders:
        roots = [folder]
        if is_suite(folder):
            # A suite may be fetched from others: no name in its record may lead out of its folder.
            roots = [folder_in(folder, title) for title in sorted(read_record(folder)["worlds"])]
        for root in roots:
            dataset = Dataset.open(root)
            placed.append(PlacedDataset(dataset, place_of(dataset)))
    return placed

"""Scenes of a benchmark with their images and texts: `gen export webdataset` writes them as tars, a
folder per split, and `gen export jsonl` writes the training lists that other tools and `score
train` read."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import draft_folder_of, locked
from generator.base.progress import SILENT, Progress
from generator.dataset.licences import licences_of_others
from generator.dataset.packing import Member, new_tar
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import TRAIN
from generator.holdout.membership import SPLITS

_FRAGMENTS = "d"
"""Beginning of the slots of decomposed captions, which are fragments and no captions."""


@dataclass(frozen=True)
class Sample:
    """A scene of a split."""

    scene_id: str
    """The scene."""
    image: bytes
    """Its image, PNG."""
    captions: list[str]
    """Its distinct true texts."""
    negatives: list[str]
    """Its distinct false texts."""


class Samples:
    """The scenes of a benchmark that have a split and at least one caption."""

    def __init__(self, dataset: Dataset, benchmark: Benchmark):
        """Read the tables of a benchmark; images are read one by one later.

        Args:
            dataset: The dataset.
            benchmark: A benchmark of it.

        Raises:
            UserError: A table is damaged.
        """
        self._world = dataset.world
        self._text_of = benchmark.text_of
        self._truth_of_texts: dict[str, dict[str, bool]] = defaultdict(dict)
        names = ("scene_id", "text_id", "slot", "truth")
        columns = [benchmark.candidates[name].to_pylist() for name in names]
        for scene_id, text_id, slot, truth in zip(*columns, strict=True):
            # A text of several items of a scene is one text: the dictionary keeps it once.
            if not slot.startswith(_FRAGMENTS):
                self._truth_of_texts[scene_id][text_id] = truth
        self._scenes_of_split: dict[str, list[str]] = defaultdict(list)
        scene_ids = benchmark.splits["scene_id"].to_pylist()
        for scene_id, split in zip(scene_ids, benchmark.splits["split"].to_pylist(), strict=True):
            # A sample without a caption would be useless to a trainer.
            has_caption = any(self._truth_of_texts[scene_id].values())
            if split is not None and has_caption:
                self._scenes_of_split[split].append(scene_id)

    def splits(self) -> dict[str, int]:
        """Count the scenes of each split that is not empty.

        Returns:
            Numbers of scenes by split; splits of the project first, others in alphabetical order.
        """
        names = [split for split in SPLITS if split in self._scenes_of_split]
        names += sorted(set(self._scenes_of_split).difference(names))
        return {name: len(self._scenes_of_split[name]) for name in names}

    @property
    def licences(self) -> str:
        """See `licence_note`."""
        return licence_note(self._world)

    def read_split(self, split: str) -> Iterator[Sample]:
        """Read the samples of a split, one by one.

        Args:
            split: Name of the split.

        Returns:
            An iterator over its samples.

        Raises:
            UserError: An image is damaged.
        """
        for scene_id in self._scenes_of_split[split]:
            captions: list[str] = []
            negatives: list[str] = []
            for text_id, truth in self._truth_of_texts[scene_id].items():
                texts = captions if truth else negatives
                texts.append(self._text_of[text_id])
            image = self._world.read(f"images/{scene_id}.png")
            yield Sample(scene_id, image=image, captions=captions, negatives=negatives)


def licence_note(world: World) -> str:
    """Compose the licence notes for images that show meshes by other authors.

    Args:
        world: The world of the images.

    Returns:
        Markdown; empty if there are no such meshes.
    """
    lines = []
    for line in licences_of_others(world.manifest["request"].get("assets")):
        lines.append(f"- {one_line_of_markdown(line.removeprefix('- '))}")
    if not lines:
        return ""
    return "\n".join(["The images show meshes by other authors:", "", *lines, ""])


@contextmanager
def export_folder(out: Path) -> Iterator[Path]:
    """Make the folder of an export, which appears whole or not at all.

    A killed command leaves the folder `.OUT.draft`, which the next command for `out` removes.

    Args:
        out: The folder; it must not exist, or be empty.

    Returns:
        A context that yields a temporary folder and renames it to `out` at the end. After an error
        the folder is deleted.

    Raises:
        UserError: `out` holds something, or another command writes it.
    """
    is_empty_folder = out.is_dir() and not any(out.iterdir())
    if out.exists() and not is_empty_folder:
        raise UserError(f"{out} is there already; remove it or choose another --out.")
    busy = f"Another command is writing {out}; wait for it, or choose another --out."
    with locked(out.with_name(f".{out.name}.lock"), busy), draft_folder_of(out) as draft:
        yield draft


def export_webdataset(
    samples: Samples, *, size: int, out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write the scenes of each split into tars, `out`/SPLIT/000000.tar and so on.

    A scene is ID.png, ID.txt (its first caption) and ID.json (scene_id, split, captions,
    negatives).

    Args:
        samples: The scenes of a benchmark.
        size: Most bytes of a tar. It holds at least one scene, however large.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The number of scenes by split.

    Raises:
        UserError: `out` is not empty, or an image is damaged.
    """
    splits = samples.splits()
    with export_folder(out) as folder, progress.track("writing", sum(splits.values())) as advance:
        if samples.licences:
            (folder / "LICENCE.md").write_text(samples.licences, encoding="utf-8")
        for split in splits:
            (folder / split).mkdir()
            scenes = (_tar_members(sample, split) for sample in samples.read_split(split))
            for _ in _write_tars(folder / split, scenes, size):
                advance()
    return splits


def export_jsonl(
    dataset: Dataset, benchmarks: Sequence[Benchmark], *, out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write the training images once, and for each benchmark the list of what it trains on.

    The turns of a rotation share their images, so K lists over one folder of images are all that a
    model trained elsewhere needs.

    Args:
        dataset: The dataset of the benchmarks.
        benchmarks: Benchmarks with a train split.
        out: New folder: `images/ID.png`, and NAME.jsonl for each benchmark. A line has the keys
            `image` (path beside the file), `caption`, and `negatives` and `positives` by kind, as
            `score train` reads.
        progress: Shown while writing.

    Returns:
        The number of training images by benchmark name.

    Raises:
        UserError: `out` is not empty, a benchmark trains on nothing, or an image is damaged.
    """
    counts: dict[str, int] = {}
    with export_folder(out) as folder:
        (folder / "images").mkdir()
        licences = licence_note(dataset.world)
        if licences:
            (folder / "LICENCE.md").write_text(licences, encoding="utf-8")
        for benchmark in benchmarks:
            lines = training_lines(benchmark)
            if not lines:
                raise UserError(
                    f"The benchmark {benchmark.name} trains on no image; choose another with "
                    f"--benchmark."
                )
            scene_ids = sorted({line.scene_id for line in lines})
            for scene_id in progress.follow(scene_ids, benchmark.name, total=len(scene_ids)):
                image = folder / "images" / f"{scene_id}.png"
                # Turns of a rotation share images.
                if not image.exists():
                    image.write_bytes(dataset.world.read(f"images/{scene_id}.png"))
            text = "".join(f"{line.to_json()}\n" for line in lines)
            (folder / f"{benchmark.name}.jsonl").write_text(text, encoding="utf-8")
            counts[benchmark.name] = len(scene_ids)
    return counts


@dataclass(frozen=True)
class TrainingLine:
    """A caption that a benchmark trains on, with its hard texts."""

    scene_id: str
    """The scene whose image the caption is true of."""
    caption: str
    """The true text."""
    negatives: dict[str, list[str]]
    """False texts by kind, such as `swap`."""
    positives: dict[str, list[str]]
    """True texts in other words by kind, such as `replace`."""

    def to_json(self) -> str:
        """Write the line of the file.

        Returns:
            JSON, in which `image` is the path beside the file.
        """
        line = {
            "image": f"images/{self.scene_id}.png",
            "caption": self.caption,
            "negatives": self.negatives,
            "positives": self.positives,
        }
        return json.dumps(line, ensure_ascii=False)


def training_lines(benchmark: Benchmark) -> list[TrainingLine]:
    """List the captions that a benchmark trains on.

    Args:
        benchmark: The benchmark.

    Returns:
        The captions of its train split, in the order of its table; empty without a train split.

    Raises:
        UserError: A table is damaged.
    """
    training_items = set(benchmark.items_of(TRAIN)["item_id"].to_pylist())
    lines: dict[tuple[str, str], TrainingLine] = {}
    # A hard text may come before the caption that it was made from.
    hard_texts: list[tuple[tuple[str, str], str, str, str]] = []
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] not in training_items:
            continue
        text = benchmark.text_of[row["text_id"]]
        if row["slot"] == "c":
            key = (row["item_id"], row["text_id"])
            lines[key] = TrainingLine(row["scene_id"], text, negatives={}, positives={})
        else:
            caption_key = (row["item_id"], row["of"])
            hard_texts.append((caption_key, row["slot"], row["kind"], text))
    for key, slot, kind, text in hard_texts:
        line = lines[key]
        texts_by_kind = line.negatives if slot == "n" else line.positives
        texts_by_kind.setdefault(kind, []).append(text)
    return list(lines.values())


def _write_tars(folder: Path, scenes: Iterator[list[Member]], size: int) -> Iterator[None]:
    """Write the tars of a split; yields after each scene."""
    number = 0
    scene = next(scenes, None)
    while scene is not None:
        with new_tar(folder / f"{number:06d}.tar") as tar:
            while scene is not None and tar.fits(scene, size):
                tar.add(scene)
                yield
                scene = next(scenes, None)
        number += 1


def _tar_members(sample: Sample, split: str) -> list[Member]:
    row = {
        "scene_id": sample.scene_id,
        "split": split,
        "captions": sample.captions,
        "negatives": sample.negatives,
    }
    return [
        (f"{sample.scene_id}.png", sample.image),
        (f"{sample.scene_id}.txt", sample.captions[0].encode()),
        (f"{sample.scene_id}.json", json.dumps(row, sort_keys=True, ensure_ascii=False).encode()),
    ]

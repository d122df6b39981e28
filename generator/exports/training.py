"""Scenes of a benchmark with their images and texts: `gen export webdataset` writes them as tars, a
folder per split, and `gen export jsonl` writes the training lists that other tools and `score
train` read."""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import locked
from generator.base.progress import SILENT, Progress
from generator.dataset.licences import licences_of_others
from generator.dataset.packing import Member, new_tar
from generator.dataset.reader import Benchmark, Dataset, World
from generator.holdout.membership import SPLITS

TRAIN = "train"
_FRAGMENTS = "d"  # slots of decomposed captions, which are fragments


@dataclass(frozen=True)
class Sample:
    """A scene of a split: its image as PNG bytes, its distinct true texts (captions) and false
    texts (negatives)."""

    scene_id: str
    image: bytes
    captions: list[str]
    negatives: list[str]


class Samples:
    """The scenes of a benchmark that have a split and at least one caption."""

    def __init__(self, dataset: Dataset, benchmark: Benchmark):
        self._world, self._text_of = dataset.world, benchmark.text_of
        self._texts: dict[str, dict[str, bool]] = defaultdict(dict)
        columns = (
            benchmark.candidates[name].to_pylist()
            for name in ("scene_id", "text_id", "slot", "truth")
        )
        for scene_id, text_id, slot, truth in zip(*columns, strict=True):
            if not slot.startswith(_FRAGMENTS):
                self._texts[scene_id][text_id] = truth
        self._scenes: dict[str, list[str]] = defaultdict(list)
        pairs = zip(
            benchmark.splits["scene_id"].to_pylist(),
            benchmark.splits["split"].to_pylist(),
            strict=True,
        )
        for scene_id, split in pairs:
            if split is not None and any(self._texts[scene_id].values()):
                self._scenes[split].append(scene_id)

    def splits(self) -> dict[str, int]:
        """The number of scenes of each split that is not empty."""
        names = [split for split in SPLITS if split in self._scenes]
        names += sorted(set(self._scenes).difference(names))
        return {name: len(self._scenes[name]) for name in names}

    @property
    def licences(self) -> str:
        """See `licence_note`."""
        return licence_note(self._world)

    def of(self, split: str) -> Iterator[Sample]:
        """The samples of a split. Raises UserError if an image is damaged."""
        for scene_id in self._scenes[split]:
            by_truth: dict[bool, list[str]] = {True: [], False: []}
            for text_id, truth in self._texts[scene_id].items():
                by_truth[truth].append(self._text_of[text_id])
            yield Sample(
                scene_id,
                self._world.read(f"images/{scene_id}.png"),
                by_truth[True],
                by_truth[False],
            )


def licence_note(world: World) -> str:
    """The licence notes for images that show meshes by other authors; empty if there are none."""
    lines = licences_of_others(world.manifest["request"].get("assets"))
    lines = [f"- {one_line_of_markdown(line.removeprefix('- '))}" for line in lines]
    return "\n".join(["The images show meshes by other authors:", "", *lines, ""]) if lines else ""


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Context that yields a temporary folder and renames it to `out` at the end; after an error it
    is deleted.

    A killed command leaves the folder `.OUT.draft`, which the next command for `out` removes.
    Raises UserError if `out` exists and is not an empty folder, or if another command writes it.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already; remove it or choose another --out.")
    draft, lock = (out.with_name(f".{out.name}.{what}") for what in ("draft", "lock"))
    with locked(lock, f"Another command is writing {out}; wait for it, or choose another --out."):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            yield draft
            os.replace(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def export_webdataset(
    samples: Samples, size: int, out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write `out`/SPLIT/000000.tar and so on, of at most `size` bytes each; returns the number of
    scenes by split.

    A scene is ID.png, ID.txt (its first caption) and ID.json (scene_id, split, captions,
    negatives). A tar holds at least one scene, however large.
    """
    splits = samples.splits()
    with whole_folder(out) as folder, progress.track("writing", sum(splits.values())) as advance:
        if samples.licences:
            (folder / "LICENCE.md").write_text(samples.licences, encoding="utf-8")
        for split in splits:
            (folder / split).mkdir()
            members = (_tar_members(sample, split) for sample in samples.of(split))
            for _ in _tars(folder / split, members, size):
                advance()
    return splits


def export_jsonl(
    dataset: Dataset, benchmarks: Sequence[Benchmark], out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write the training images once, and for each benchmark the list of what it trains on.

    The turns of a rotation share their images, so K lists over one folder of images are all that a
    model trained elsewhere needs.

    Args: dataset: The dataset of the benchmarks. benchmarks: Benchmarks with a train split. out:
        New folder: `images/ID.png`, and NAME.jsonl for each benchmark. A line has the keys `image`
        (path beside the file), `caption`, and `negatives` and `positives` by kind, as `score train`
        reads. progress: Shown while writing.

    Returns:
        The number of training images by benchmark name.

    Raises:
        UserError: `out` is not empty, a benchmark trains on nothing, or an image is damaged.
    """
    counts: dict[str, int] = {}
    with whole_folder(out) as folder:
        (folder / "images").mkdir()
        if licences := licence_note(dataset.world):
            (folder / "LICENCE.md").write_text(licences, encoding="utf-8")
        for benchmark in benchmarks:
            lines = training_lines(benchmark)
            if not lines:
                raise UserError(
                    f"The benchmark {benchmark.name} trains on no image; choose another with "
                    f"--benchmark."
                )
            scene_ids = sorted({line.scene_id for line in lines})
            for scene_id in progress.each(scene_ids, benchmark.name, len(scene_ids)):
                image = folder / "images" / f"{scene_id}.png"
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
    negatives: dict[str, list[str]]
    """False texts by kind, such as `swap`."""
    positives: dict[str, list[str]]
    """True texts in other words by kind, such as `replace`."""

    def to_json(self) -> str:
        """The line of the file; `image` is the path beside it."""
        line = {
            "image": f"images/{self.scene_id}.png",
            "caption": self.caption,
            "negatives": self.negatives,
            "positives": self.positives,
        }
        return json.dumps(line, ensure_ascii=False)


def training_lines(benchmark: Benchmark) -> list[TrainingLine]:
    """The captions of a benchmark's train split, in the order of its table."""
    items = set(benchmark.items_of(TRAIN)["item_id"].to_pylist())
    lines: dict[tuple[str, str], TrainingLine] = {}
    hard_texts: list[tuple[tuple[str, str], str, str, str]] = []
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] not in items:
            continue
        text = benchmark.text_of[row["text_id"]]
        if row["slot"] == "c":
            key = (row["item_id"], row["text_id"])
            lines[key] = TrainingLine(row["scene_id"], text, {}, {})
        else:
            hard_texts.append(((row["item_id"], row["of"]), row["slot"], row["kind"], text))
    for key, slot, kind, text in hard_texts:
        line = lines[key]
        texts_by_kind = line.negatives if slot == "n" else line.positives
        texts_by_kind.setdefault(kind, []).append(text)
    return list(lines.values())


def _tars(folder: Path, scenes: Iterator[list[Member]], size: int) -> Iterator[None]:
    """Write the tars of a split; yields after each scene."""
    number, scene = 0, next(scenes, None)
    while scene is not None:
        with new_tar(folder / f"{number:06d}.tar") as tar:
            while scene is not None and tar.fits(scene, size):
                tar.add(scene)
                yield
                scene = next(scenes, None)
        number += 1


def _tar_members(sample: Sample, split: str) -> list[Member]:
    shown = {
        "scene_id": sample.scene_id,
        "split": split,
        "captions": sample.captions,
        "negatives": sample.negatives,
    }
    return [
        (f"{sample.scene_id}.png", sample.image),
        (f"{sample.scene_id}.txt", sample.captions[0].encode()),
        (f"{sample.scene_id}.json", json.dumps(shown, sort_keys=True, ensure_ascii=False).encode()),
    ]

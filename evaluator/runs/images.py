"""What runs that ask about images themselves, not about captions, have in common: the checked
request, and the records of the images."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.protocols.items import reported_splits
from evaluator.provenance.certificate import verified_now
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import IDENTITY_FILE
from evaluator.runs.request import AskOptions, AskRequest
from evaluator.runs.rules import check_level
from evaluator.runs.run import PreparedRun
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import check_own_files
from generator.dataset.certificate import describe_certificate
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import TRAIN

CAPTION_OPTIONS = ("protocols", "prompt", "orders", "samples", "splits")
"""Options of `score ask` that only questions about captions have."""


def refuse_options(request: AskRequest, names: Sequence[str]) -> None:
    """Raise UserError if a request has an option that its form does not have.

    Args:
        request: What to ask, and how.
        names: The options, as fields of the request.
    """
    for name in names:
        if getattr(request, name) != getattr(AskOptions, name):
            option = name.removesuffix("s") if name == "protocols" else name
            raise UserError(f"--{option} is not for --form {request.form}; leave it out.")


def prepare_images(
    request: AskRequest, question: str, *, out: Path, results_file: str
) -> PreparedRun:
    """Check a request that asks about each image, and open its dataset.

    Args:
        request: What to ask, and how.
        question: What tells the run from runs that ask otherwise.
        out: The folder of the run.
        results_file: Name of the file of results, by which such a folder is known.

    Returns:
        The checked request, without protocols.

    Raises:
        UserError: The request cannot be met, or the folder holds something else.
    """
    level = check_level(request.level)
    if request.limit is not None and request.limit < 1:
        raise UserError(f"Expected a limit of at least 1 image, got {request.limit}.")
    dataset = request.dataset
    if not isinstance(dataset, Dataset):
        dataset = Dataset.open(dataset)
    world = world_of(dataset)
    benchmark = dataset.benchmark
    identity = {
        "model": request.model_name,
        "benchmark": benchmark.digest,
        "world": world.digest,
        "limit": request.limit,
        "question": (
            f"{request.form}, {question}, temperature {request.temperature:g}, "
            f"{request.max_tokens} tokens"
        ),
    }
    if benchmark.manifest.get("world") not in (None, world.digest):
        raise UserError(
            f"{benchmark.folder} was made over another world than {dataset.source}; run `gen "
            f"split` again."
        )
    _check_folder(out, identity, results_file)
    find_certificate = verified_now if request.verify else describe_certificate
    return PreparedRun(
        dataset=dataset,
        whole=benchmark,
        benchmark=benchmark,
        protocols=(),
        splits=None,
        level=level,
        certificate=find_certificate(benchmark, world),
        identity=identity,
    )


def world_of(dataset: Dataset) -> World:
    """Return the world of a dataset.

    Args:
        dataset: The dataset.

    Returns:
        Its scenes.

    Raises:
        UserError: It is a published benchmark, without scenes.
    """
    if not isinstance(dataset.world, World):
        raise UserError(
            f"{dataset.source} has no record of its scenes, by which descriptions are judged; give "
            f"a dataset made by `gen render`."
        )
    return dataset.world


def read_evaluated(
    benchmark: Benchmark, world: World, limit: int | None = None
) -> list[ImageTruth]:
    """Read the records of the images to ask about: of every split that results report but train.

    Args:
        benchmark: The benchmark, whose splits count.
        world: The world.
        limit: Most images of each split, drawn by a hash of their names; None for all.

    Returns:
        The records.

    Raises:
        UserError: There is no such image, or the world is damaged.
    """
    names = benchmark.splits["split"].unique().to_pylist()
    splits = [split for split in reported_splits(filter(None, names)) if split != TRAIN]
    truths = list(read_truths(world, benchmark, splits))
    if limit is not None:
        counts: Counter[str | None] = Counter()
        chosen = []
        for truth in sorted(truths, key=lambda truth: _hash_of(truth.scene_id)):
            counts[truth.split] += 1
            if counts[truth.split] <= limit:
                chosen.append(truth.scene_id)
        truths = [truth for truth in truths if truth.scene_id in set(chosen)]
    if not truths:
        raise UserError(
            f"The benchmark {benchmark.name} has no evaluation images to describe; make some with "
            f"`gen render`."
        )
    return truths


def _hash_of(scene_id: str) -> bytes:
    return hashlib.sha256(scene_id.encode()).digest()


def _check_folder(out: Path, identity: Mapping[str, Any], results_file: str) -> None:
    """Raise UserError when the folder holds something other than a run of this form, or that of
    another model, dataset or question."""
    if not out.exists():
        return
    check_own_files(out)
    records = []
    for name in (results_file, IDENTITY_FILE):
        if (out / name).exists():
            records.append(read_json(out / name))
    # A run that is starting has only hidden files.
    is_starting = all(path.name.startswith(".") for path in out.iterdir())
    if not ((out / results_file).exists() or is_starting):
        raise UserError(
            f"{out} is not empty and holds no {results_file} of such a run; choose another --out."
        )
    for key, value in identity.items():
        for record in records:
            if record.get(key) != value:
                raise UserError(
                    f"{out} holds a run of another {key} ({record.get(key)}); choose another --out."
                )

"""Writing the texts and items of 4,000 scenes, and proving them."""

import tempfile
from pathlib import Path

from bench.figures import Figure, repeated, seconds
from bench.worlds import BENCHMARK, write_texts, write_world
from generator.judge.verify import verify_dataset

SCENES = {"train": 2900, "val": 100, "seen": 400, "partial": 400, "unseen": 200}


def figures() -> list[Figure]:
    """Texts and items a second."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "world"
        prepared = write_world(root, SCENES)
        rows = write_texts(root, prepared)
        return [
            repeated("gen split, 4,000 scenes", "texts+items/s", lambda: rows / seconds(lambda: write_texts(root, prepared))),
            repeated("gen verify, 4,000 scenes", "texts+items/s", lambda: rows / seconds(lambda: verify_dataset(root, BENCHMARK))),
        ]  # fmt: skip

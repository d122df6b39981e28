"""The texts of a scene, as exports must have them."""

from generator.dataset.reader import Benchmark


def texts_of(benchmark: Benchmark, scene_id: str) -> dict[bool, set[str]]:
    """The texts that are true and false of a scene."""
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for row in benchmark.candidates.to_pylist():
        if row["scene_id"] == scene_id:
            texts[row["truth"]].add(benchmark.text_of[row["text_id"]])
    return texts

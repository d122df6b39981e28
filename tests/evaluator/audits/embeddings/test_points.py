"""Captions are shown once, with images that they are true of."""

from evaluator.audits.embeddings import choose_classes, with_own_images
from generator.dataset.reader import Benchmark


def test_captions_stand_in_the_first_split_that_has_them(benchmark: Benchmark) -> None:
    classes = choose_classes(benchmark, (), 10_000, 2, 0)
    assert len({each.caption for each in classes}) == len(classes)
    assert {each.split for each in classes} == {"train", "seen", "partial", "unseen"}
    true = {
        (row["scene_id"], benchmark.text_of[row["text_id"]]) for row in benchmark.candidates.to_pylist() if row["truth"]
    }
    assert all((scene, each.caption) in true for each in classes for scene in each.scenes)
    assert max(len(each.scenes) for each in classes) == 2
    few = choose_classes(benchmark, (), 10, 2, 0)
    assert len(few) == 10
    assert few == choose_classes(benchmark, (), 10, 2, 0) != choose_classes(benchmark, (), 10, 2, 1)
    assert {each.split for each in choose_classes(benchmark, ("unseen",), 10, 2, 0)} == {"unseen"}


def test_the_other_order_of_a_caption_has_no_images_of_its_own(benchmark: Benchmark) -> None:
    classes = choose_classes(benchmark, ("unseen",), 10_000, 1, 0)
    kept = with_own_images(classes, benchmark)
    assert len(classes) == 2 * len(kept)
    assert len({frozenset(each.caption.split(" and ")) for each in kept}) == len(kept)

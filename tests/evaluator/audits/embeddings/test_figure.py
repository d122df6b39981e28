"""The figure has a panel for each model, a marker for each split and the words that tell captions apart."""

import numpy as np

from evaluator.audits.embeddings import Class, draw_points


def test_captions_splits_and_models_are_named() -> None:
    classes = [Class("a photo of a red cube", "train", ("1", "2")), Class("a photo of a <blue> cone", "unseen", ("3",))]
    places = {name: np.arange(6.0).reshape(3, 2) + i for i, name in enumerate(("frozen", "tuned"))}
    svg = draw_points(classes, [0, 0, 1], places, "images")
    assert svg.startswith("<svg")
    for said, times in (
        ("red cube", 2),
        ("&lt;blue&gt; cone", 2),
        ("images, frozen", 1),
        ("images, tuned", 1),
        ("unseen", 1),
    ):
        assert svg.count(f">{said}<") == times
    assert "a photo of" not in svg.partition("</metadata>")[2].replace("<!-- a photo of", "")
    assert svg == draw_points(classes, [0, 0, 1], places, "images")


def test_captions_that_differ_in_order_alone_are_written_whole() -> None:
    classes = [
        Class(caption, "train", ("1",)) for caption in ("a red cube and a blue cone", "a blue cone and a red cube")
    ]
    svg = draw_points(classes, [0, 1], {"m": np.eye(2)}, "texts")
    assert ">a red cube and a blue cone<" in svg

"""Labels of PUG:SPARE as captions."""

from collections import Counter
from pathlib import Path

from evaluator.benchmarks.registry import read_texts
from tests.evaluator.benchmarks.conftest import write_pug_spare


def test_the_colours_of_two_animals_are_exchanged(tmp_path: Path) -> None:
    questions, about = read_texts("pug_spare", write_pug_spare(tmp_path))
    assert questions[1].texts == ("green deer stag and red fox", "red deer stag and green fox")
    assert (questions[1].item, questions[1].labels.kind) == ("Desert/0000001.png", "Desert")
    assert Counter(question.cluster for question in questions) == dict.fromkeys(
        (
            "deer stag+fox+gray+red",
            "deer stag+fox+green+red",
            "deer stag+fox+blue+green",
            "deer stag+fox+blue+gray",
        ),
        2,
    )
    island, about = read_texts("pug_spare", tmp_path, ["world=Island"])
    assert {question.labels.kind for question in island} == {"Island"}
    assert about["excluded"] == {"its world is not Island": 4}

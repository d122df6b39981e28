"""The best captions of a few images are those of the runs' tables."""

import pandas as pd

from evaluator.report.tables.paper import part
from evaluator.report.tables.sources import Source
from evaluator.report.tables.top_captions import ITEMS, TopTable

TABLE = TopTable("13", "Best captions", "systematicity", "both", (part("SC", split="seen"), part("UC", split="unseen")))


def test_each_label_shows_its_best_texts_of_the_same_items(sources: list[Source]) -> None:
    table = TABLE.make(sources)
    assert [line.labels[0] for line in table.lines] == ["SC"] * ITEMS + ["UC"] * ITEMS
    top = pd.read_csv(sources[0].opened[0].folder / "tables" / "top.csv", keep_default_na=False)
    text_of = sources[0].opened[0].benchmark.text_of
    for line in table.lines:
        _, image, caption = line.labels
        right, best, none, _ = line.cells
        of_image = top[(top["kind"] == "both") & (top["protocol"] == "systematicity") & (top["scene_id"] == image)]
        found = [part.sort_values("rank") for _, part in of_image.groupby("item_id")]
        said = {
            "; ".join(f"{i}. {text}" for i, text in enumerate(each["text"], 1)): each["truth"].iloc[0] for each in found
        }
        assert bool(int(right.text)) == said[best.text]
        assert caption in text_of.values()
        assert none.reason == "no weights"


def test_without_best_texts_there_are_no_lines() -> None:
    assert TABLE.make([Source(("m",), missing="no run")]).lines == []

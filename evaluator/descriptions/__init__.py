"""Counts judged descriptions and averages them over images (docs/descriptions.md).

`judged_answer.judge_answer` reads, judges and counts an answer, `aggregation.aggregate_measures`
averages the counts over images, and `floors.floor_rows` gives the floors. How answers are read and
judged is `generator/dataset/descriptions/`; `generator/dataset/image_truths.py` makes the records.
"""

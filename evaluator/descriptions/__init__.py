"""Judges descriptions of images atom by atom (docs/descriptions.md).

`dataset_truth.read_truths` makes the records of a dataset's images, `judged_answer.judge_answer`
reads, judges and counts an answer, and `aggregation.aggregate_measures` averages the counts over
images. `floors.floor_rows` gives the floors.
"""

"""Judges descriptions of images atom by atom (docs/descriptions.md).

Read an answer with `reading.read_description`, judge it against an `ImageTruth` with
`judging.judge_description`, count it with `measures.measure_image`, and average over images with
`aggregation.aggregate_measures`. `dataset_truth.read_truths` makes the records of a dataset.
"""

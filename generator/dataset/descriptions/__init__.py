"""Reads and judges descriptions of images, and rewards them (docs/descriptions.md).

`truth.ImageTruth` is the record that an image is judged by, `question.DescriptionQuestion` asks for
a description, `reading.read_description` reads the answer, `matching` and `judging` compare it with
the record, and `rewards` turns the verdicts into numbers from 0 to 1.

`gen export rl` copies this package, `answer_reader` and `relations.py` beside the questions, so
that a trainer rewards answers without Jackalope. It imports nothing else of Jackalope, and all that
by relative names; besides the standard library it needs numpy and scipy, for matching.
"""

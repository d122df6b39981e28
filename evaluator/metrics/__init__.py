"""Metrics as pure functions on arrays of scores: they need no benchmark and no run.

- `evaluator.metrics.comparison`: whether one score beats another; ranks, recall@k and reciprocal
  ranks with their chance levels; the chosen false text.
- `evaluator.metrics.questions`: whether each question is correct: pairs of images, hard positives,
  decomposed captions; weights of means over categories.
- `evaluator.metrics.formats`: how numbers are written.
- `evaluator.metrics.ranking`: the ranks of true candidates among thousands, computed in blocks.

Metrics return two arrays: correct, and lost only to ties. A tie is never correct.
"""

"""Metrics as pure functions on arrays of scores: they need no benchmark and no run.

- `evaluator.metrics.comparison`: when one score beats another; recall@k and its chance; which false text is chosen.
- `evaluator.metrics.questions`: a right or wrong of each question: pairs of images, hard positives, decomposed
  captions.
- `evaluator.metrics.ranking`: where the true counterpart ranks among thousands, block by block.
- `evaluator.metrics.questions`: weights of means over categories.

Each function returns what is right and, beside it, what only a tie decided: a tie is never right.
"""

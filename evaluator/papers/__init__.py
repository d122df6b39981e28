"""A folder for each paper whose tables the project makes (docs/papers.md).

A folder has `tables.py`, with the tables and figures as a `PAPER`; `recipe.py`, with the experiment
that makes their runs as an `EXPERIMENT`; `presets.toml`, with the paper's hyperparameters for
`score train`; and whatever else only this paper needs. To add a paper, write its folder and enter
it in `paper.py` and `recipes.py`.
"""

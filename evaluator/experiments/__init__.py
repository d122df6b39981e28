"""Experiments: recipes that list the commands behind a paper's tables, and their runner
(docs/experiments.md)."""

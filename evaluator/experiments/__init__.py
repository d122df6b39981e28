"""Experiments: files that name the commands of a paper's tables, and what runs them (docs/experiments.md)."""

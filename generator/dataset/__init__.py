"""Reads and writes the files of a dataset. `evaluator` imports nothing else of `generator`."""

"""Describing: the texts and items of a benchmark over the scenes of a world. `benchmark.describe` is the entry."""

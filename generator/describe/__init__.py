"""Describing: writes the texts and items of a benchmark over a world. The entry point is
`benchmark.describe`."""

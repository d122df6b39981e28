"""The files of a dataset: schema, writer, reader. The one part of `generator` that `evaluator` may import."""

"""Training of models on the train split of a benchmark, or on a corpus."""

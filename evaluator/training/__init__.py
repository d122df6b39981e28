"""Training models on a benchmark's train split."""

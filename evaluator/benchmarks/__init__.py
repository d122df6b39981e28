"""Benchmarks of others: their images, texts and truths, read where their authors' files lie."""

"""Score vision-language models on worlds and benchmarks, and say what the scores mean."""

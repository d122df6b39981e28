"""Published benchmarks: reads their images, texts and truths from the files that their authors
publish."""

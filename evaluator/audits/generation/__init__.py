"""Images that diffusion models draw for the captions of a benchmark, beside the true ones."""

"""From a plan to images: jobs, workers, resume, shards, quality."""

"""One file for each protocol, of its name: pure functions from scores to results."""

NAMES = (
    "binary",
    "retrieval",
    "systematicity",
    "productivity",
    "integration",
    "skill",
    "hard_positives",
    "confusion",
    "context",
    "gzsl",
    "pairs",
)

"""Training texts: captions of several kinds, each with its negatives and its positives (docs/language.md)."""

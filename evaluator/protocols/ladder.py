"""The paraphrase ladder: hard positives at 1, 2, … edits from their caption, and foils at the same
distance."""

from evaluator.protocols.hard_positives import HardPositives


class Ladder(HardPositives):
    """Original and augmented accuracy, brittleness and mean scores (Kamath et al. 2024, section 3)
    by number of edits.

    Its kinds are the distances: `1-edit`, `2-edits` and so on.
    """

    name = "ladder"

"""Questions in words about two images, of which the second may show the world of the first from
another side."""

from evaluator.protocols.outcomes import recall
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores


class Views(Protocol):
    """Accuracy by kind: which of two images shows the scene of the first (chance 1/2), by how many
    quarter turns the camera moved (1 / number of turns), from which side of an object the second
    image was taken (1/4). Of the first kind also by whether the other image has the same objects.
    """

    name = "views"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.of_slots("c", "n")
        accuracy = recall(items, items.false, "accuracy")
        rows = tabulate(items, [accuracy], ["kind"])
        has_skill = items.skill != ""
        if has_skill.any():
            rows += tabulate(items, [accuracy], ["kind", "skill"], gaps=False, where=has_skill)
        return ProtocolResults(items, [accuracy], rows)

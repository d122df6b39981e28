"""Binary accuracy: the true text against its foil (protocols, section 1; Peng et al. 2026, section 3.1)."""

import numpy as np

from evaluator.protocols.comparison import beats, tied
from evaluator.protocols.outcomes import Outcomes

CHANCE = 0.5
METRIC = "binary"


def binary_outcomes(
    item_id: np.ndarray,
    scene_id: np.ndarray,
    split: np.ndarray,
    cluster: np.ndarray,
    scores: np.ndarray,
    texts: np.ndarray,
    unscored: np.ndarray,
) -> Outcomes:
    """Outcomes of n items from scores (n, 2) and text ids (n, 2), the true text first; `unscored` (n,) gives reasons or "".

    >>> one = np.array(["x"])
    >>> binary_outcomes(one, one, one, one, np.array([[0.3, 0.3]]), np.array([["c", "n"]]), np.array([""])).correct
    array([False])
    """
    true, false = scores[:, 0], scores[:, 1]
    return Outcomes(
        item_id,
        scene_id,
        split,
        cluster,
        beats(true, false),
        tied(true, false),
        true,
        false,
        texts[:, 0],
        texts[:, 1],
        unscored,
    )

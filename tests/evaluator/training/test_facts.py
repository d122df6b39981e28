"""What is true of an image, as it is said and as a bag of words."""

import numpy as np

from evaluator.training.data import Facts, TrainingData


def test_a_text_whose_words_are_all_true_is_true_for_a_bag() -> None:
    texts = [
        "a red cube and a blue cone",
        "a blue cone and a red cube",
        "A blue cube, and a red cone.",
        "a red cube",
        "a cyan cone",
    ]
    none = np.full((2, 1, 1), -1)
    data = TrainingData(texts, np.array([[0], [3]]), none, none, np.array([[0, 1], [3, -1]]), [], True)
    rows = np.arange(5)
    assert Facts(data).true(np.array([1, 0]), rows).tolist() == [[0, 0, 0, 1, 0], [1, 1, 0, 0, 0]]
    assert Facts(data, bags=True).true(np.array([1, 0]), rows).tolist() == [[0, 0, 0, 1, 0], [1, 1, 1, 1, 0]]

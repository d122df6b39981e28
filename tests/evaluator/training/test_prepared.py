"""Prepared images are read once, or again where they do not fit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.training import data as prepared
from evaluator.training.data import PreparedImages, TrainingData


@pytest.mark.parametrize(("room", "read"), [(1 << 20, [2, 2]), (0, [2, 4])])
def test_images_are_read_once_where_they_fit(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch, room: int, read: list[int]
) -> None:
    monkeypatch.setattr(prepared, "_MOST_CACHED", room)
    names: list[str] = []

    class Counted:
        def image(self, name: str) -> Any:
            names.append(name)
            return torch.tensor([float(name)])

    counted = replace(data, images=[(Counted(), name) for name in data.scenes])
    images = PreparedImages(counted, lambda image: image * 2)
    for times in read:
        found = images.of(np.array([1, 0, 1]))
        assert [each.item() for each in found] == [2 * float(data.scenes[i]) for i in (1, 0, 1)]
        assert len(names) == times

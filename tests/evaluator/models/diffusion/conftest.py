"""Tiny pipelines of diffusers on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from evaluator.models.diffusion.networks import Flux
from tests.evaluator import diffusers_folders
from tests.evaluator.diffusers_folders import SIDE

SEED = 0


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tiny pipeline of a kind, made at the first call. Not to be changed."""
    folders: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in folders:
            place = tmp_path_factory.mktemp(kind)
            unet = kind in ("epsilon", "v_prediction")
            with torch.random.fork_rng():  # the same weights, whichever tests ran before
                torch.manual_seed(SEED)
                folders[kind] = (
                    diffusers_folders.stable_diffusion(place, kind)
                    if unet
                    else getattr(diffusers_folders, kind)(place)
                )
        return folders[kind]

    return folder


@pytest.fixture(autouse=True)
def _small_flux(monkeypatch: pytest.MonkeyPatch) -> None:
    """FLUX's size is not in its configuration, and too large for a test."""
    monkeypatch.setattr(Flux, "side", SIDE)

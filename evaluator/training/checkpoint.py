"""The state of a training on disk, from which the same training is continued to the same model."""

import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from evaluator.models.weights import check_weights_file, weights_digest
from generator.base.errors import UserError

_COPIES = 3
"""Adam keeps two numbers beside each weight."""
_ROOM = 1 << 20


class Checkpoint:
    """The state after some step, in the file `path`; an older state stays until the new one is whole.

    identity: all that decides the training, JSON-ready. A state of another training is refused.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self._identity = path, dict(identity)

    def check_space(self, model: torch.nn.Module) -> None:
        """Raise UserError where the disk has no room for the model, its state, and the state before that."""
        weights = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
        there = self.path.stat().st_size if self.path.exists() else 0
        needed = weights + 2 * _COPIES * weights + _ROOM - there
        free = shutil.disk_usage(self.path.parent).free
        if free < needed:
            raise UserError(
                f"{self.path.parent} has {free / 1e6:,.0f} MB free and the training needs about {needed / 1e6:,.0f} MB for the model "
                "and for the state that it continues from: free some space, or choose another --out."
            )

    def pack(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, schedule: Any, step: int, total: float, losses: list[float]
    ) -> memoryview:  # fmt: skip
        """The state after so many steps, for `keep`: `total` of the losses of this epoch, and those of the epochs that are done."""
        state = {
            "identity": self._identity, "step": step, "total": total, "losses": list(losses), "model": model.state_dict(),
            "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(), "weights": weights_digest(model),
        }  # fmt: skip
        data = io.BytesIO()  # torch does not say why a file cannot be written
        torch.save(state, data)
        return data.getbuffer()

    def keep(self, state: memoryview) -> None:
        """Write a state. Where it cannot be written, the one before is kept. Raises OSError."""
        draft = self.path.with_name(f"{self.path.name}.draft")
        try:
            with draft.open("wb") as file:
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        finally:
            draft.unlink(missing_ok=True)

    def resume(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, schedule: Any
    ) -> tuple[int, float, list[float]]:
        """Take up the state, if there is one; returns what `pack` was given: steps, `total` and losses.

        Raises UserError when it is damaged, or of another training.
        """
        if not self.path.exists():
            return 0, 0.0, []
        check_weights_file(self.path)
        try:
            state = torch.load(self.path, weights_only=True, map_location="cpu")
            if state["identity"] == self._identity:
                model.load_state_dict(state["model"])
                optimizer.load_state_dict(state["optimizer"])
                schedule.load_state_dict(state["schedule"])
                whole = weights_digest(model) == state["weights"]
        except Exception as error:  # torch, pickle and zipfile have errors of their own
            raise UserError(
                f"The state {self.path} is damaged ({type(error).__name__}); remove it to train anew."
            ) from None
        if state["identity"] != self._identity:
            raise UserError(
                f"{self.path} is the state of another training (its recipe, data or device differ); run that one again to "
                "continue it, remove the file, or choose another --out."
            )
        if not whole:
            raise UserError(f"The state {self.path} is damaged (its weights changed); remove it to train anew.")
        return int(state["step"]), float(state["total"]), list(state["losses"])

    def remove(self) -> None:
        """Remove the state, after the model was written."""
        self.path.unlink(missing_ok=True)

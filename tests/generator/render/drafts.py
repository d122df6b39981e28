"""Draft renders of a few scenes by one worker, for tests of what images show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generator.render.farm import Farm
from generator.render.run import Rendering, worker_setup
from generator.scene.planned import Job
from generator.vocabulary.schema import Vocabulary


def draft_setup(
    vocabulary: Vocabulary, folder: Path, width: int, height: int, outputs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What a worker is sent first."""
    size = {"seed": 0, "width": width, "height": height}
    return worker_setup(
        {"vocabulary": vocabulary.toml(), **size, **Rendering("draft", outputs).request}, folder
    )


def render_drafts(
    scenes: Sequence[Job],
    folder: Path,
    vocabulary: Vocabulary,
    side: int,
    outputs: tuple[str, ...] = (),
) -> None:
    """Render scenes one after another into `folder`."""
    setup = draft_setup(vocabulary, folder, side, side, outputs)
    answers = list(Farm(1).render(scenes, len(scenes), setup))
    assert all("scene" in answer for answer in answers), answers

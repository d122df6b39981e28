"""The images of a run of a benchmark of others, for the page."""

import logging
from pathlib import Path

from evaluator.benchmarks.pictures import Pictures
from evaluator.benchmarks.registry import read_external
from evaluator.benchmarks.source import Source
from evaluator.runs.folder import Run
from generator.base.errors import UserError

logger = logging.getLogger(__name__)


def pictures_of(run: Run) -> Pictures | None:
    """The images of a run of a benchmark of others; None for other runs, and where its files are gone or others."""
    external = run.record.get("external")
    if not external:
        return None
    images = external["images"]
    folder, filters = None if images is None else Path(images), tuple(external.get("filters", ()))
    source = Source(Path(external["path"]), external["name"], folder, filters)
    try:
        pictures = read_external(source).pictures
        if pictures.digest == run.record["world"]:
            return pictures
        reason = "they changed since the run"
    except UserError as error:
        reason = error.message
    logger.info(f"The page shows no images of {source}: {reason}")
    return None

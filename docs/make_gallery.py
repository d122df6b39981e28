"""Renders the pictures of docs/gallery.md, twelve scenes of each family: `python
docs/make_gallery.py [FAMILY ...]`.

The scenes are the first of a plan with seed 0, not chosen. It takes a quarter of an hour on two
cores.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from generator.api import render

OUT = Path(__file__).parent / "images" / "gallery"
FAMILIES: dict[str, dict[str, Any]] = {
    "clevr": {},
    "clevr-many": {"objects": "3..7"},
    "clevr-relations": {"objects": "3..4"},
    "clevr-original": {"objects": "3..7"},
    "pug": {"objects": "2..3"},
    "photo": {},
    "things": {},
}
"""Options of the world of each family."""
COLUMNS, ROWS, GAP = 4, 3, 6
"""Of a picture; the gap in pixels."""
WIDTH, HEIGHT = 320, 240
"""Of a scene, pixels."""


def main(families: list[str]) -> None:
    """Render and draw the pictures of these families, or of all."""
    for family in families or FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            dataset = render(
                family=family,
                holdout="none",
                scenes=f"all={COLUMNS * ROWS}",
                resolution=f"{WIDTH}x{HEIGHT}",
                pairs=False,
                out=Path(folder) / family,
                **FAMILIES[family],
            )
            scene_ids = dataset.world.scenes["scene_id"].to_pylist()
            sheet = contact_sheet([dataset.world.image(scene_id) for scene_id in scene_ids])
        sheet.save(OUT / f"{family}.jpg", quality=88, optimize=True)
        print(OUT / f"{family}.jpg")


def contact_sheet(images: list[Image.Image]) -> Image.Image:
    """Arrange images in rows on white.

    Args:
        images: COLUMNS × ROWS images of WIDTH × HEIGHT pixels.

    Returns:
        The sheet.
    """
    sheet = Image.new(
        "RGB",
        (COLUMNS * (WIDTH + GAP) - GAP, ROWS * (HEIGHT + GAP) - GAP),
        (255, 255, 255),
    )
    for number, image in enumerate(images):
        row, column = divmod(number, COLUMNS)
        sheet.paste(image, (column * (WIDTH + GAP), row * (HEIGHT + GAP)))
    return sheet


if __name__ == "__main__":
    main(sys.argv[1:])

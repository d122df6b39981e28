"""Every image stands on the sheet once, in its row and column, and nothing is cut."""

import numpy as np
from PIL import Image, ImageColor

from evaluator.audits.generation import SheetRow, draw_sheet

COLOURS = ["red", "blue", "lime", "yellow", "cyan", "magenta"]


def test_images_stand_in_rows_and_columns() -> None:
    images = [Image.new("RGB", (64 if i % 2 else 48, 32), colour) for i, colour in enumerate(COLOURS)]
    rows = [
        SheetRow("seen", "a red cube", images[:2]),
        SheetRow("seen", "a blue cube", images[2:4]),
        SheetRow("unseen", "a green cone", images[4:]),
    ]
    sheet = np.array(draw_sheet(["true image", "model draws"], rows, ["A note."]))
    boxes = []
    for colour, image in zip(COLOURS, images, strict=True):
        y, x = np.nonzero((sheet == ImageColor.getrgb(colour)).all(-1))
        boxes.append((x.min(), y.min(), x.max() + 1, y.max() + 1))
        assert len(x) == (x.max() - x.min() + 1) * (y.max() - y.min() + 1)  # a whole rectangle
        assert (x.max() - x.min() + 1) / (y.max() - y.min() + 1) == image.width / image.height
    lefts, tops = [[box[i] for box in boxes] for i in (0, 1)]
    assert lefts[0] == lefts[2] == lefts[4] < lefts[1] == lefts[3] == lefts[5]
    assert tops[0] == tops[1] < tops[2] == tops[3] < tops[4] == tops[5]
    assert tops[4] - tops[2] > tops[2] - tops[0]  # the name of a split stands between


def test_long_captions_and_names_are_wrapped() -> None:
    image = Image.new("RGB", (32, 32), "red")
    short, long = (
        draw_sheet(["true image", name], [SheetRow("seen", caption, [image, image])], [])
        for name, caption in (("m", "a cube"), ("m" * 90, " ".join(["a red cube and"] * 12)))
    )
    assert long.width == short.width
    assert long.height >= short.height + 2 * 20
    margin = np.array(long)[:, -10:]
    assert (margin == 255).all()

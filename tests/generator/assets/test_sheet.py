"""The sheet of meshes from eight sides."""

from PIL import Image

from generator.render.blender.asset_worker import draw_sheet


def test_each_mesh_has_a_row_of_eight_views() -> None:
    views = {name: [Image.new("RGB", (16, 16), color)] * 8 for name, color in {"fox": "red", "hare": "blue"}.items()}
    sheet = draw_sheet(views)
    red, blue = (sum(pixel == color for pixel in sheet.getdata()) for color in ((255, 0, 0), (0, 0, 255)))
    assert red == blue == 8 * 16 * 16
    assert draw_sheet({"fox": views["fox"]}).height == sheet.height - 20

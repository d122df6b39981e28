"""Parts of self-contained HTML pages: style, the gallery of items, data in a page, and images as data URLs."""

import base64
import html
import io
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from PIL import Image

from generator.base.errors import visible

_SIDES = (192, 128, 96, 64, 48)
"""Widths and heights of thumbnails, in pixels: the largest at which all fit in _ROOM."""
_INLINE = 512
_ROOM = 4_500_000
"""Bytes of all thumbnails of a page, about."""
_BYTES_A_PIXEL = 0.16


def page_environment(package: str, folder: str) -> Environment:
    """Templates of a folder of a package. What they print is escaped, and characters that nothing shows are named.

    They have `css`, `common` and `gallery`, the files of the same names here.
    """
    environment = Environment(
        loader=PackageLoader(package, folder), autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    own = {"css": "page.css", "common": "common.js", "gallery": "gallery.js"}
    environment.globals |= {name: asset("generator.base.pages", file) for name, file in own.items()}
    return environment


def _shown(value: Any) -> Any:
    return type(value)(visible(value)) if isinstance(value, str) else value


def asset(package: str, name: str) -> str:
    """The text of a file that pages contain."""
    return (files(package) / name).read_text(encoding="utf-8")


def as_json(data: Any) -> str:
    """JSON as it can stand in a script element of a page: no text of it ends the element or begins another."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c")


def coded(values: Iterable[str]) -> dict[str, Any]:
    """Labels as the gallery reads them: the different names, and for each value its number among them."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"names": [visible(name) for name in numbers], "codes": codes}


def data_url(image: Image.Image, side: int) -> str:
    """An image of at most `side` pixels as a data URL of WebP."""
    small, buffer = image.copy(), io.BytesIO()
    small.thumbnail((side, side))
    small.save(buffer, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def thumbnails(image: Callable[[str], Image.Image], names: Sequence[str], inline: bool = False) -> list[str]:
    """The image of each name as a data URL, made smaller where there are many; inline: of 512 pixels at most."""
    fitting = (side for side in _SIDES if len(names) * side**2 * _BYTES_A_PIXEL <= _ROOM)
    side = _INLINE if inline else next(fitting, _SIDES[-1])
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: data_url(image(name), side), names))


def image_row(shown: Sequence[tuple[Image.Image, str]], side: int = 192) -> str:
    """Images beside one another, each with its words below."""
    figures = (
        f'<figure style="margin:0;max-width:{side}px"><img src="{data_url(image, side)}" alt="{html.escape(words)}">'
        f"<figcaption>{html.escape(words)}</figcaption></figure>"
        for image, words in shown
    )
    return f'<div style="display:flex;gap:12px;flex-wrap:wrap">{"".join(figures)}</div>'

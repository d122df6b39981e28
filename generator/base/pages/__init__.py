"""Parts of self-contained HTML pages: style, the gallery of items, data in a page, and images as
data URLs."""

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
"""Largest widths and heights of thumbnails, in pixels. A page uses the largest at which all fit in
_ROOM."""
_INLINE = 512
_ROOM = 4_500_000
"""Approximate bytes of all thumbnails of a page."""
_BYTES_A_PIXEL = 0.16


def page_environment(package: str, folder: str) -> Environment:
    """Returns the Jinja environment of a folder of templates. It escapes HTML and control
    characters.

    Templates can use `css`, `common` and `gallery`: the texts of page.css, common.js and
    gallery.js.
    """
    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    own = {"css": "page.css", "common": "common.js", "gallery": "gallery.js"}
    environment.globals |= {name: asset("generator.base.pages", file) for name, file in own.items()}
    return environment


def _shown(value: Any) -> Any:
    return type(value)(visible(value)) if isinstance(value, str) else value


def asset(package: str, name: str) -> str:
    """The text of a file that pages include."""
    return (files(package) / name).read_text(encoding="utf-8")


def as_json(data: Any) -> str:
    """JSON that is safe in a script element of a page: no text in it can end the element or begin
    another."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c")


def coded(values: Iterable[str]) -> dict[str, Any]:
    """Labels as the gallery reads them: `names`, the distinct values; `codes`, the index in `names`
    of each value."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"names": [visible(name) for name in numbers], "codes": codes}


def data_url(image: Image.Image, side: int) -> str:
    """An image of at most `side` pixels as a data URL of WebP."""
    small, buffer = image.copy(), io.BytesIO()
    small.thumbnail((side, side))
    small.save(buffer, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def thumbnails(
    image: Callable[[str], Image.Image], names: Sequence[str], inline: bool = False
) -> list[str]:
    """The image of each name as a data URL, at most 192 pixels a side, down to 48 for many images;
    inline: 512."""
    fitting = (side for side in _SIDES if len(names) * side**2 * _BYTES_A_PIXEL <= _ROOM)
    side = _INLINE if inline else next(fitting, _SIDES[-1])
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: data_url(image(name), side), names))


def image_row(shown: Sequence[tuple[Image.Image, str]], side: int = 192) -> str:
    """HTML of images side by side, each with its caption below."""
    figures = (
        f'<figure style="margin:0;max-width:{side}px"><img src="{data_url(image, side)}" '
        f'alt="{html.escape(words)}">'
        f"<figcaption>{html.escape(words)}</figcaption></figure>"
        for image, words in shown
    )
    return f'<div style="display:flex;gap:12px;flex-wrap:wrap">{"".join(figures)}</div>'

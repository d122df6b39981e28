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
"""Largest width and height of images that are shown large, in pixels."""
_ROOM = 4_500_000
"""Approximate bytes of all thumbnails of a page."""
_BYTES_A_PIXEL = 0.16
"""Of a thumbnail as a data URL of WebP, on average."""


def page_environment(package: str, folder: str) -> Environment:
    """Make the Jinja environment of a folder of templates.

    Args:
        package: Package of the folder.
        folder: Its path in the package.

    Returns:
        An environment that escapes HTML and control characters. Templates can use `css`, `common`
        and `gallery`: the texts of page.css, common.js and gallery.js.
    """
    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_controls,
    )
    shared_files = {"css": "page.css", "common": "common.js", "gallery": "gallery.js"}
    for name, file in shared_files.items():
        environment.globals[name] = asset("generator.base.pages", file)
    return environment


def _escape_controls(value: Any) -> Any:
    """A text that Jinja has marked as safe stays marked, so it keeps its type."""
    return type(value)(visible(value)) if isinstance(value, str) else value


def asset(package: str, name: str) -> str:
    """Read a file that pages include.

    Args:
        package: Package of the file.
        name: Its name.

    Returns:
        Its text.
    """
    return (files(package) / name).read_text(encoding="utf-8")


def as_json(data: Any) -> str:
    """Write data as JSON for a script element of a page.

    Args:
        data: The data.

    Returns:
        JSON in which no text can end the element or begin another.

    Example:
        >>> as_json(["</script>"])
        '["\\\\u003c/script>"]'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c")


def coded(values: Iterable[str]) -> dict[str, Any]:
    """Encode labels as the gallery reads them.

    Args:
        values: The label of each row.

    Returns:
        `names`, the distinct values; `codes`, the index in `names` of each value.

    Example:
        >>> coded(["seen", "unseen", "seen"])
        {'names': ['seen', 'unseen'], 'codes': [0, 1, 0]}
    """
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"names": [visible(name) for name in numbers], "codes": codes}


def data_url(image: Image.Image, side: int) -> str:
    """Encode a small copy of an image as a data URL.

    Args:
        image: The image.
        side: Largest width and height of the copy, pixels.

    Returns:
        The URL, of WebP.
    """
    small = image.copy()
    small.thumbnail((side, side))
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def thumbnails(
    image: Callable[[str], Image.Image],
    names: Sequence[str],
    inline: bool = False,
    *,
    sides: Sequence[int] = _SIDES,
) -> list[str]:
    """Encode images as data URLs.

    Args:
        image: Reads the image of a name.
        names: Names of the images.
        inline: Whether they are shown large: up to 512 pixels.
        sides: Largest widths and heights to choose from, largest first.

    Returns:
        The URL of each image: of the largest side at which a page has room for all.
    """
    side = _INLINE if inline else _fitting_side(len(names), sides)
    # Threads suffice: Pillow decodes, scales and encodes without Python's global lock.
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: data_url(image(name), side), names))


def _fitting_side(n_images: int, sides: Sequence[int]) -> int:
    for side in sides:
        if n_images * side**2 * _BYTES_A_PIXEL <= _ROOM:
            return side
    return sides[-1]


def image_row(images: Sequence[tuple[Image.Image, str]], side: int = 192) -> str:
    """Compose the HTML of images side by side, each with its caption below.

    Args:
        images: Each image and its caption.
        side: Largest width and height of an image, pixels.

    Returns:
        The HTML.
    """
    figures = []
    for image, words in images:
        caption = html.escape(words)
        figures.append(
            f'<figure style="margin:0;max-width:{side}px"><img src="{data_url(image, side)}" '
            f'alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return f'<div style="display:flex;gap:12px;flex-wrap:wrap">{"".join(figures)}</div>'

"""Images inside HTML: data URLs, and a row of images with words below, as notebooks show it."""

import base64
import html
import io
from collections.abc import Sequence

from PIL import Image


def data_url(image: Image.Image, side: int) -> str:
    """An image of at most `side` pixels as a data URL of WebP."""
    small, buffer = image.copy(), io.BytesIO()
    small.thumbnail((side, side))
    small.save(buffer, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def image_row(shown: Sequence[tuple[Image.Image, str]], side: int = 192) -> str:
    """Images beside one another, each with its words below."""
    figures = (
        f'<figure style="margin:0;max-width:{side}px"><img src="{data_url(image, side)}" alt="{html.escape(words)}">'
        f"<figcaption>{html.escape(words)}</figcaption></figure>"
        for image, words in shown
    )
    return f'<div style="display:flex;gap:12px;flex-wrap:wrap">{"".join(figures)}</div>'

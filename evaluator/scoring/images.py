"""What scoring reads images from: a world, or the images of a benchmark of others."""

from typing import Protocol

from PIL import Image


class Images(Protocol):
    """Images by id."""

    @property
    def digest(self) -> str:
        """SHA-256 that identifies the content of all."""
        ...

    def image(self, scene_id: str, /) -> Image.Image:
        """An image, RGB. Raises UserError where it cannot be read."""
        ...

    def image_digest(self, scene_id: str, /) -> str:
        """SHA-256 of an image's file."""
        ...

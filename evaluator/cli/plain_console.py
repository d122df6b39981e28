"""The console that tables of results are printed on: control characters in names and texts are shown, not obeyed."""

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from generator.base.errors import visible


class Console(RichConsole):
    """Rich's console; only its own styles control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As in Rich."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

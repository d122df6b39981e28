"""Base class of protocols (ways to test a model): a name, and recipes that draw captions and write
items about them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.describe.captioner import Captioner, Draft, Item, Text
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.holdout.membership import ASYMMETRIC, UNSEEN_ATOMS
from generator.language.complexity import Cell, Quota


@dataclass(frozen=True)
class Recipe:
    """Makes the items of one kind with two functions: one draws a caption, one writes items about
    it.

    >>> recipe = Recipe(lambda draft: None, lambda draft, subject: [], kinds=("swap",))
    >>> recipe.items(None)  # a scene for which `draw` finds no caption has no item
    []
    """

    draw: Callable[..., Any]
    """Takes the draft, and with a `quota` also the cell of complexity to fill. Returns the subject
    of the items, such as the form of a caption; None if the scene has none."""
    write: Callable[[Draft, Any], Iterable[Item | None]]
    """Takes the draft and the subject. Returns the items, with None for an item that cannot be
    made."""
    quota: Quota | None = None
    """The cells of complexity to fill equally; None for captions of any complexity."""
    kinds: tuple[str, ...] = ()
    """The expected kinds of items; missing kinds are counted as dropped. Empty to expect any
    item."""

    def items(self, draft: Draft) -> list[Item]:
        """Make the items of a scene.

        Args:
            draft: the work on the scene.

        Returns:
            The items that could be made, in the order of `write`.
        """
        if self.quota is None:
            return self._make_items(draft)

        def make_items_of_cell(cell: Cell) -> list[Item]:
            return self._make_items(draft, cell)

        return self.quota.fill(len(draft.scene.unique_objects), make_items_of_cell)

    def _make_items(self, draft: Draft, *cell: Cell) -> list[Item]:
        subject = self.draw(draft, *cell)
        if subject is None:
            return []
        return [item for item in self.write(draft, subject) if item is not None]


class Protocol:
    """Writes the items of one protocol. The class declares everything that belongs to the protocol.

    A subclass sets `name`, `kinds` and `recipes`, and overrides other attributes and methods where
    it differs. It may take options as keyword arguments of its constructor, with annotated types:
    `TextRequest.options` gives them, and `request.check_options` checks them.

    The protocols of the registry describe the scenes of evaluation splits; training texts
    (training.py, gzsl.py) are written the same way for the scenes of `train`.

    >>> class Counting(Protocol):
    ...     name = "counting"
    ...     kinds = ("more", "fewer")
    ...     recipes = {kind: Recipe(lambda draft: None, lambda draft, form: []) for kind in kinds}
    >>> protocol = Counting(captioner=None)
    >>> protocol.select(["more"])
    >>> protocol.kinds, list(protocol.recipes)
    (('more',), ['more'])
    """

    name: ClassVar[str]
    """The value of `--protocol`, and the protocol of its items."""
    kinds: tuple[str, ...]
    """The kinds of its items."""
    needs: ClassVar[str] = (
        "two objects of a scene must differ in category and in the tested kind, and foils must be "
        "as familiar as the truth"
    )
    """Its requirements on a world, for the error message if no scene gives an item."""
    graded: ClassVar[bool] = False
    """Whether its captions have requested complexities; if so, its constructor takes the option
    `cells`."""
    splits: ClassVar[tuple[str, ...] | None] = None
    """The splits whose scenes it describes; None for all but `unseen_atoms` and the asymmetric
    ones."""
    surveys: ClassVar[bool] = False
    """Whether it selects its items from all scenes together; if so, `survey` gets every scene
    first."""
    recipes: Mapping[str, Recipe]
    """The recipes by name, such as a kind or a skill. For the option `kinds`, the first word of a
    name is the kind."""

    def __init__(self, captioner: Captioner):
        """Subclasses call this and may take options by keyword.

        Args:
            captioner: the language of the benchmark, which all of its protocols share.
        """
        self.captioner = captioner

    def select(self, kinds: Sequence[str] | None) -> None:
        """Keep the recipes of some kinds.

        Args:
            kinds: the kinds to keep; None for all.

        Raises:
            UserError: the protocol lacks one of the kinds.
        """
        for kind in kinds or ():
            if kind not in self.kinds:
                raise UserError(
                    f"The protocol '{self.name}' has no kind '{kind}'; "
                    f"{did_you_mean(kind, [*self.kinds])}"
                )
        self.kinds = tuple(kinds or self.kinds)
        # The name of a recipe begins with its kind.
        selected = {}
        for name, recipe in self.recipes.items():
            kind = name.split()[0]
            if kind in self.kinds:
                selected[name] = recipe
        self.recipes = selected

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        """The options with which the first benchmark of a world is written.

        Args:
            holdout: what training of that benchmark never shows.

        Returns:
            Keyword arguments of the constructor by name.
        """
        return {}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes that apply to a scene; by default all."""
        return self.recipes

    def describes(self, split: str) -> bool:
        """Whether it describes the scenes of a split."""
        if self.splits:
            return split in self.splits
        return split not in (UNSEEN_ATOMS, *ASYMMETRIC)

    def survey(self, scene: DescribedScene, stream: Stream) -> None:
        """Record a scene's possible items; called for all scenes before `items`, if `surveys`.

        Args:
            scene: the scene.
            stream: the same random numbers as `items` gets.
        """

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """Write the items of a scene.

        Args:
            scene: a scene of a split that it describes.
            stream: the random numbers of the scene in this protocol.

        Yields:
            The items. Items that cannot be made are counted in the captioner's `dropped`, by kind
            if the recipe expects kinds, else by recipe.
        """
        draft = Draft(self.captioner, scene, stream, self.name)
        for name, recipe in self.recipes_of(scene).items():
            items = recipe.items(draft)
            written_kinds = {item.kind for item in items}
            missing = [f"{name}: {kind}" for kind in recipe.kinds if kind not in written_kinds]
            if not missing and not items:
                missing = [name]
            self.captioner.dropped.update(f"{self.name} {what}" for what in missing)
            yield from items

    def pooled_items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """Write the items that need the captions of all scenes; called after the items of the last
        scene.

        Yields:
            Each item with its scene.
        """
        return iter(())

    def pools(self) -> Mapping[str, Iterable[Text]]:
        """The texts of its retrieval pools, by the pool's name; called after all items have been
        written."""
        return {}

    def report(self) -> Mapping[str, Any]:
        """Statistics of the written texts for the manifest: how often each cell of complexity was
        filled, by recipe."""
        filled = {}
        for name, recipe in self.recipes.items():
            if recipe.quota:
                filled[name] = recipe.quota.to_dict()
        return filled

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
from generator.language.complexity import Quota


@dataclass(frozen=True)
class Recipe:
    """Makes the items of one kind with two functions.

    `draw` takes the draft, and with a `quota` also the cell of complexity to fill; it returns the
    subject of the items,
    such as a caption, or None. `write` takes the draft and the subject; it returns the items, with
    None for an item
    that cannot be made. `kinds` are the expected kinds of items; missing kinds are counted as
    dropped.
    """

    draw: Callable[..., Any]
    write: Callable[[Draft, Any], Iterable[Item | None]]
    quota: Quota | None = None
    kinds: tuple[str, ...] = ()

    def items(self, draft: Draft) -> list[Item]:
        """The items of a scene."""

        def make(*cell: object) -> list[Item]:
            drawn = self.draw(draft, *cell)
            return (
                []
                if drawn is None
                else [item for item in self.write(draft, drawn) if item is not None]
            )

        return self.quota.fill(len(draft.scene.unique_objects), make) if self.quota else make()


class Protocol:
    """Writes the items of one protocol. The class declares everything that belongs to the protocol.

    The protocols of the registry describe the scenes of evaluation splits; training texts
    (training.py, gzsl.py) are written the same way for the scenes of `train`.
    """

    name: ClassVar[str]
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
        """Subclasses may take options by keyword; `Request.options` gives them."""
        self.captioner = captioner

    def select(self, kinds: Sequence[str] | None) -> None:
        """Keep the recipes of some kinds, all by default. Raises UserError for a kind that the
        protocol lacks."""
        for kind in kinds or ():
            if kind not in self.kinds:
                raise UserError(
                    f"The protocol '{self.name}' has no kind '{kind}'; "
                    f"{did_you_mean(kind, [*self.kinds])}"
                )
        self.kinds = tuple(kinds or self.kinds)
        self.recipes = {
            what: each for what, each in self.recipes.items() if what.split()[0] in self.kinds
        }

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        """The options with which the first benchmark of a world is written."""
        return {}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes that apply to a scene."""
        return self.recipes

    def describes(self, split: str) -> bool:
        """Whether it describes the scenes of a split."""
        return split in self.splits if self.splits else split not in (UNSEEN_ATOMS, *ASYMMETRIC)

    def survey(self, scene: DescribedScene, stream: Stream) -> None:
        """Record a scene's possible items, with the same stream as `items`; called for all scenes
        before `items`."""

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """The items of a scene. Items that cannot be made are counted in the captioner's
        `dropped`."""
        draft = Draft(self.captioner, scene, stream, self.name)
        for what, recipe in self.recipes_of(scene).items():
            made = recipe.items(draft)
            found = {item.kind for item in made}
            missing = [f"{what}: {kind}" for kind in recipe.kinds if kind not in found]
            self.captioner.dropped.update(
                f"{self.name} {each}" for each in missing or ([] if made else [what])
            )
            yield from made

    def pooled_items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """Items that need the captions of all scenes, each with its scene; called after the items
        of the last scene."""
        return iter(())

    def pools(self) -> Mapping[str, Iterable[Text]]:
        """The texts of its retrieval pools, by the pool's name; called after all items have been
        written."""
        return {}

    def report(self) -> Mapping[str, Any]:
        """Statistics of the written texts for the manifest: how often each cell of complexity was
        filled."""
        return {
            what: recipe.quota.to_dict() for what, recipe in self.recipes.items() if recipe.quota
        }

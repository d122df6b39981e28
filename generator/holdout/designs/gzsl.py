"""The design gzsl: class lists of zero-shot and generalised zero-shot classification (Pearson et
al. 2025, section 3)."""

from collections.abc import Mapping, Sequence

from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.holdout.class_lists import ClassRule, draw_classes, published_classes, shared_labels
from generator.holdout.designs.base import Design, FirstTexts, check_total
from generator.holdout.holdout import Holdout
from generator.holdout.presets import preset_names
from generator.vocabulary.schema import Vocabulary

_SCENES = 6000


class Gzsl(Design):
    """Divides labels among class lists; one holdout for each dataset. Scenes are made label by
    label."""

    name = "gzsl"
    prefix = "gzsl-"
    pairs = False
    grid = False
    label_captions = True

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """Class lists in the published proportions."""
        return ("classes",)

    def draw(
        self, asked: Sequence[str], vocabulary: Vocabulary, block_seed: int, opposites: bool
    ) -> list[Holdout]:
        """One holdout per dataset, from drawn class lists (`classes`, `classes=17/4/11`;
        `objects=3` adds a dataset of three objects) or from the lists of a preset."""
        if len(asked) == 1 and asked[0] in preset_names():
            return published_classes(asked[0], vocabulary)
        return draw_classes(asked, vocabulary, block_seed)

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> ClassRule:
        """The labels of a scene decide its split."""
        return ClassRule(vocabulary, holdout)

    def scene_counts(
        self,
        holdouts: Sequence[Holdout],
        vocabulary: Vocabulary,
        asked: Mapping[str, int] | str | None,
    ) -> list[dict[str, int]]:
        """The published numbers of scenes for a preset without `asked`; otherwise `asked` scenes in
        all (default 6000), divided in the published proportions."""
        published = [self.rule(vocabulary, holdout).published_counts() for holdout in holdouts]
        if asked is None and holdouts[0].asked[0] in preset_names():
            return published
        scenes = str(_SCENES) if asked is None else asked
        whole = whole_number(scenes.strip()) if isinstance(scenes, str) else None
        if whole is None:
            raise UserError(
                f"Expected --scenes of the design gzsl to be a number for its {len(holdouts)} "
                f"datasets together, got '{asked}'."
            )
        check_total(whole, str(asked))
        total = sum(sum(counts.values()) for counts in published)
        made = [{split: whole * n // total for split, n in counts.items()} for counts in published]
        if short := [split for counts in made for split, n in counts.items() if n == 0]:
            raise UserError(
                f"--scenes {asked} leaves no scene for {', '.join(dict.fromkeys(short))}; take "
                f"{total // 100:,} or more."
            )
        return made

    def benchmark_name(self, holdout: Holdout) -> str:
        """PRESET-DATASET for a preset; otherwise `gzsl`, the kind if requested, the dataset and the
        block seed."""
        if holdout.asked[0] in preset_names():
            return f"{holdout.asked[0]}-{holdout.task}"
        named, _, _ = holdout.asked[0].rpartition("=classes")
        kinds = f"{named.replace(':', '-')}-" if named else ""
        return f"{self.prefix}{kinds}{holdout.task}-b{holdout.block_seed}"

    def summary(self, holdout: Holdout) -> str:
        """A one-line summary of what is held out."""
        labels = sum(each.split != "train" for each in holdout.classes)
        return f"{labels} of {len(holdout.classes)} labels ({holdout.task})"

    def first_texts(self, holdout: Holdout) -> FirstTexts:
        """The protocol `gzsl`: each image's label against wrong labels."""
        return FirstTexts(("gzsl",), template="photo")

    def equal_familiarity(self, holdout: Holdout) -> bool:
        """False: unseen labels compete with seen labels."""
        return False

    def declared_leaks(self, holdout: Holdout) -> list[str]:
        """Arrangements that are in two class lists."""
        return shared_labels(holdout)


DESIGN = Gzsl()

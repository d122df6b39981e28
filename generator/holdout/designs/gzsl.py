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

# Scenes of all datasets together, if neither a preset nor the user says another number.
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
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """One holdout per dataset, from drawn class lists (`classes`, `classes=17/4/11`;
        `objects=3` adds a dataset of three objects) or from the lists of a preset."""
        # Published lists are given whole; nothing is drawn beside them.
        if len(holdout_options) == 1 and holdout_options[0] in preset_names():
            return published_classes(holdout_options[0], vocabulary)
        return draw_classes(holdout_options, vocabulary, block_seed)

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> ClassRule:
        """The labels of a scene decide its split."""
        return ClassRule(vocabulary, holdout)

    def scene_counts(
        self,
        holdouts: Sequence[Holdout],
        vocabulary: Vocabulary,
        scenes_option: Mapping[str, int] | str | None,
    ) -> list[dict[str, int]]:
        """The published numbers of scenes for a preset without `--scenes`; otherwise the number of
        scenes in all (default 6000) is divided in the published proportions."""
        # Other totals keep the published proportions, between datasets and between splits.
        published = [self.rule(vocabulary, holdout).published_counts() for holdout in holdouts]
        if scenes_option is None and holdouts[0].asked[0] in preset_names():
            return published
        option = str(_SCENES) if scenes_option is None else scenes_option
        n_scenes = whole_number(option.strip()) if isinstance(option, str) else None
        if n_scenes is None:
            raise UserError(
                f"Expected --scenes of the design gzsl to be a number for its {len(holdouts)} "
                f"datasets together, got '{scenes_option}'."
            )
        check_total(n_scenes, str(scenes_option))
        total = sum(sum(counts.values()) for counts in published)
        scene_counts = []
        empty: list[str] = []
        for counts in published:
            scaled = {split: n_scenes * n // total for split, n in counts.items()}
            empty += [split for split, n in scaled.items() if n == 0]
            scene_counts.append(scaled)
        if empty:
            raise UserError(
                f"--scenes {scenes_option} leaves no scene for "
                f"{', '.join(dict.fromkeys(empty))}; take {total // 100:,} or more."
            )
        return scene_counts

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
        n_untrained = sum(listed.split != "train" for listed in holdout.classes)
        return f"{n_untrained} of {len(holdout.classes)} labels ({holdout.task})"

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

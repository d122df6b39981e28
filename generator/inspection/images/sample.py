"""Draws the scenes whose images are looked at, evenly from every split."""

from collections import defaultdict
from collections.abc import Mapping

from generator.base.streams import Stream


def sample_scenes(splits: Mapping[str, tuple[str, ...]], number: int, seed: int) -> list[str]:
    """Sorted ids of `number` scenes, or of all if there are fewer.

    `splits`: by scene_id, the split in every benchmark. Scenes with the same splits are a stratum; the strata give one scene
    each in turn, so that none is left out while another gives two more than it.
    """
    strata = defaultdict[tuple[str, ...], list[str]](list)
    for scene_id in sorted(splits):
        strata[splits[scene_id]].append(scene_id)
    order = [
        (turn, name, scene_id)
        for name, scenes in strata.items()
        for turn, scene_id in enumerate(Stream("images", seed, *name).shuffled(scenes))
    ]
    return sorted(scene_id for _, _, scene_id in sorted(order)[:number])

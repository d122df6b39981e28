"""The benchmarks that are made with their world: one for each holdout of its request."""

from pathlib import Path

from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import World
from generator.describe.benchmark import Summary, describe
from generator.describe.request import first_request
from generator.holdout.class_lists import ClassRule
from generator.holdout.request import HoldoutRequest, WorldPart, design_of
from generator.holdout.scene_counts import GRID
from generator.plan.plan import plan_parts
from generator.vocabulary.schema import parse_vocabulary


def write_benchmarks(
    root: Path, world: World, exposed_negatives: bool, progress: Progress = SILENT
) -> dict[str, Summary]:
    """Write the benchmark of each holdout that the world was made for, and return what each holds, by name."""
    request = world.manifest["request"]
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    asked = HoldoutRequest(
        request["design"], tuple(request["holdout"]), tuple(request["block_seed"]), request["opposites"]
    )
    holdouts = asked.holdouts(vocabulary)
    design = design_of(holdouts[0])
    rules = [design.rule(vocabulary, holdout) for holdout in holdouts]
    made_for_each = request["scenes"] != GRID and (len(holdouts) > 1 or isinstance(rules[0], ClassRule))
    plan = None
    if made_for_each:
        parts = [WorldPart(holdout, counts) for holdout, counts in zip(holdouts, request["scenes"], strict=True)]
        plan = plan_parts(vocabulary, parts, request["seed"], tuple(request["objects"]))
    done = {}
    for number, (holdout, rule) in enumerate(zip(holdouts, rules, strict=True)):
        name = design.benchmark_name(holdout)
        assigned = plan.assigned(number, rule.splits) if plan else None
        done[name] = describe(
            root, world, holdout, name, first_request(holdout, exposed_negatives), assigned, True, progress
        )
    return done

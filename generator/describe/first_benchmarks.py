"""The benchmarks that are made with their world: one for each holdout that it was planned for."""

from pathlib import Path

from generator.dataset.reader import World
from generator.describe.benchmark import Described, describe, first_request
from generator.holdout.design import Design, benchmark_name
from generator.plan.plan import GRID, Part, plan_parts, rule_of
from generator.vocabulary.schema import parse_vocabulary


def write_benchmarks(root: Path, world: World, exposed_negatives: bool) -> dict[str, Described]:
    """Write the benchmark of each holdout of the request that the world answers; what each came to hold, by name."""
    request = world.manifest["request"]
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    design = Design(request["design"], tuple(request["holdout"]), tuple(request["block_seed"]), request["opposites"])
    holdouts = design.holdouts(vocabulary)
    made_for_each = request["scenes"] != GRID and (len(holdouts) > 1 or request["design"] == "gzsl")
    plan = None
    if made_for_each:
        parts = [Part(holdout, counts) for holdout, counts in zip(holdouts, request["scenes"], strict=True)]
        plan = plan_parts(vocabulary, parts, request["seed"], tuple(request["objects"]))
    done = {}
    for number, holdout in enumerate(holdouts):
        name = benchmark_name(holdout)
        assigned = plan.assigned(number, rule_of(vocabulary, holdout).splits) if plan else None
        done[name] = describe(
            root, world, holdout, name, first_request(holdout, exposed_negatives), assigned, with_world=True
        )
    return done

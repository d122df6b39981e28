"""CREPE: raw retrieval in folds against its definition in plain Python, with planted ties, and what
is asked raw only."""

import statistics
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from evaluator.protocols import find_protocol
from evaluator.protocols.crepe import OWN_METRICS, RAW_METRICS
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure
from evaluator.runs.parts import limit_items
from evaluator.scoring.needs import LIMIT, collect_needs, within_limit
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.dataset.reader import Dataset
from generator.dataset.records import SCENES
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.lexicon import Lexicon
from generator.judge.verify import verify_dataset
from generator.language.truth import Facts, decide
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, prepare
from generator.scene.scene import Scene
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.protocols.plain import tie, wins
from tests.evaluator.synthetic import Builder, find, planted, write_run
from tests.generator.scenes import form_of
from tests.generator.unrendered import write_planned

PROTOCOLS = ("systematicity", "productivity")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of systematicity and productivity over many scenes, some with the same captions."""
    builder = Builder(0, 400)
    for i in range(700):
        builder.add("systematicity", "atom", [("c", True, None), *[("n", False, "atom")] * 4])
        builder.add("productivity", "swap", CAPTION_AND_FOIL, counts=(2, 2, i % 2))
    captions = [row for row in builder.candidates if row["slot"] == "c"]
    for row, other in zip(captions[:100:2], captions[2:102:2], strict=True):
        row["text_id"] = other["text_id"]
    return builder.write(tmp_path_factory.mktemp("raw") / "dataset")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_folds_are_equal_distinct_and_within_a_split(many: Path, protocol: str) -> None:
    benchmark = Dataset.open(many).benchmark("all")
    folds = find_protocol(protocol).folds(benchmark)
    split = {r["item_id"]: r["split"] for r in benchmark.items_of(protocol).to_pylist()}
    atoms = {
        r["text_id"]: r["n_objects"] + r["n_attributes"] + r["n_relations"]
        for r in benchmark.texts.to_pylist()
    }
    true = defaultdict(set)
    for r in benchmark.candidates.to_pylist():
        if r["item_id"] in split and r["truth"]:
            true[split[r["item_id"]], r["scene_id"]].add(r["text_id"])
    groups = defaultdict(list)
    for fold in folds:
        size = next(
            len(other.images)
            for other in folds
            if protocol == "systematicity" or other.split == fold.split
        )
        assert len(set(fold.images)) == len(set(fold.texts)) == len(fold.images) == size
        assert all(
            text in true[fold.split, image]
            for image, text in zip(fold.images, fold.texts, strict=True)
        )
        if protocol == "productivity":
            assert {atoms[text] for text in fold.texts} == {fold.n}
        groups[fold.split, fold.n].append(fold)
    assert {s for s, _ in groups} == {"seen", "unseen"}
    assert len({fold.name for fold in folds}) == len(folds)
    for members in groups.values():
        assert 1 <= len(members) <= 20
        assert len({image for fold in members for image in fold.images}) == sum(
            len(f.images) for f in members
        )
    assert min(len(members) for members in groups.values()) == 1


def test_a_small_partial_split_makes_no_fold_smaller(tmp_path: Path) -> None:
    builder = Builder(0, 60)
    for _ in range(40):
        builder.add("systematicity", "atom", CAPTION_AND_FOIL)
    for i, item in enumerate(builder.items):
        item["split"] = ("seen", "unseen")[i % 2] if i else "partial"
    folds = find_protocol("systematicity").folds(
        Dataset.open(builder.write(tmp_path)).benchmark("all")
    )
    assert {fold.split for fold in folds} == {"seen", "unseen"}
    assert min(len(fold.images) for fold in folds) > 5


def test_a_group_with_images_for_25_folds_gets_20(tmp_path: Path) -> None:
    """CREPE evaluates at most 20 folds of a group. The two images of `unseen` make folds of two, of
    which the fifty of `seen` would fill 25."""
    builder = Builder(scenes=52)
    for i in range(52):
        builder.add("systematicity", "atom", CAPTION_AND_FOIL)
        builder.items[-1]["split"] = "seen" if i < 50 else "unseen"
        for candidate in builder.candidates[-len(CAPTION_AND_FOIL) :]:
            candidate["scene_id"] = f"s{i:04d}"
    folds = find_protocol("systematicity").folds(
        Dataset.open(builder.write(tmp_path)).benchmark("all")
    )
    assert {len(fold.images) for fold in folds} == {2}
    assert Counter(fold.split for fold in folds) == {"seen": 20, "unseen": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_raw_retrieval_is_its_definition(many: Path, tmp_path: Path, protocol: str) -> None:
    rng = np.random.default_rng(4)
    folder = write_run(many, tmp_path / "run", lambda n: rng.normal(size=n))
    folds = find_protocol(protocol).folds(Dataset.open(many).benchmark("all"))
    (folder / "pools").mkdir()
    scores = {}
    for fold in folds:
        n = len(fold.images)
        matrix = planted(rng, n * n).reshape(n, n) + np.eye(n, dtype=np.float32) * rng.choice(
            [0, 0.2, 200.0], (n, 1)
        )
        scores[fold.name] = matrix.astype(np.float32)
    broken, blurred = folds[0], folds[1]
    scores[broken.name][0, 1] = np.nan
    for name, matrix in scores.items():
        np.save(folder / "pools" / f"{name}.npy", matrix)
    indistinct = {blurred.texts[0]: blurred.texts[1]}
    record = read_json(folder / "run.json") | {
        "raw_retrieval": [protocol],
        "indistinct_texts": indistinct,
    }
    write_json(folder / "run.json", record)
    narrow, results = measure(folder, level=0.8), measure(folder)
    for row, less in zip(results["rows"], narrow["rows"], strict=True):
        assert row["kind"] != "raw" or less["high"] - less["low"] < row["high"] - row["low"]
    population_of_split = {
        row["split"]: row["population"] for row in results["rows"] if row["kind"] != "raw"
    }
    for metric, turned in zip(OWN_METRICS, (False, True), strict=True):
        for split, n in {(fold.split, fold.n) for fold in folds}:
            members = [fold for fold in folds if (fold.split, fold.n) == (split, n)]
            means, right, ties, unscored = [], [], 0, 0
            for fold in members:
                matrix = (scores[fold.name].T if turned else scores[fold.name]).astype(float)
                own, others = (
                    np.diag(matrix),
                    np.where(np.eye(len(matrix)), -np.inf, matrix).max(axis=1),
                )
                scored = ~np.isnan(matrix).any(axis=1)
                scored[: 2 * (fold is blurred)] = False
                pairs = list(zip(own[scored], others[scored], strict=True))
                right += [wins(*pair) for pair in pairs]
                ties += sum(tie(*pair) for pair in pairs)
                unscored += sum(~scored)
                means.append(statistics.fmean(wins(*pair) for pair in pairs))
            row = find(results, protocol, split, metric=metric, n=n, kind="raw")
            assert row["value"] == pytest.approx(statistics.fmean(right), abs=2e-6)
            assert (row["items"], row["ties"], row["unscored"]) == (len(right), ties, unscored)
            assert row["chance"] == pytest.approx(1 / len(members[0].images), abs=1e-6)
            assert row["population"] == population_of_split[split]
            sd = pytest.approx(statistics.stdev(means), abs=2e-6) if len(members) > 1 else None
            assert row["sd"] == sd


WORLDS = {
    "bindings": WorldOptions(
        family="clevr-many",
        holdout=("3x3", "atoms=1x2"),
        scenes={"train": 60, "val": 2, "seen": 24, "partial": 2, "unseen": 24, "unseen_atoms": 24},
        resolution="64x48",
        design="systematicity",
        objects=(3, 6),
    ),
    "relations": WorldOptions(
        family="clevr-relations",
        holdout=("relation:pair=2x3", "atoms=1x2"),
        scenes={"train": 80, "val": 2, "seen": 30, "partial": 2, "unseen": 30, "unseen_atoms": 20},
        resolution="64x48",
        design="systematicity",
    ),
}
SPLITS_OF_CREPE = {"seen", "unseen", "unseen_atoms"}


@pytest.fixture(
    scope="module", params=["bindings", pytest.param("relations", marks=pytest.mark.full)]
)
def planned(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Prepared]:
    """A world without rendered images, with a benchmark "all" of both protocols."""
    root = tmp_path_factory.mktemp("crepe") / "dataset"
    prepared = prepare(WORLDS[request.param])
    write_planned(root, prepared)
    # Equally familiar foils do not limit raw retrieval, which has none.
    texts = TextRequest(PROTOCOLS, equal_familiarity=request.param == "bindings", complexity=(4, 5))
    describe_world(
        root, Dataset.open(root).world, holdout=prepared.holdout, name="all", request=texts
    )
    return root, prepared


def test_folds_of_a_limited_benchmark_have_only_its_captions(
    planned: tuple[Path, Prepared],
) -> None:
    benchmark = limit_items(Dataset.open(planned[0]).benchmark("all"), 25)
    folds = find_protocol("systematicity").folds(benchmark)
    assert folds
    for fold in folds:
        assert fold.truth is not None
        assert len(fold.images) == len(fold.texts) > fold.truth.max()
        pairs = {tuple(pair) for pair in fold.truth.tolist()}
        assert {(i, i) for i in range(len(fold.images))} <= pairs


def test_who_knows_the_truth_reaches_everything_in_every_split(
    planned: tuple[Path, Prepared], tmp_path: Path
) -> None:
    """The captions of unseen compounds are true of many images: any of them counts as right."""
    root, prepared = planned
    benchmark = Dataset.open(root).benchmark("all")
    lexicon = Lexicon.from_toml(prepared.vocabulary.text)
    facts = {
        row["scene_id"]: Facts(Scene.from_json(row["scene"]), prepared.vocabulary)
        for row in Dataset.open(root).world.table("scenes", SCENES).to_pylist()
    }
    folder = write_run(root, tmp_path / "run", lambda n: np.zeros(n))
    (folder / "pools").mkdir()
    for fold in (
        fold for protocol in PROTOCOLS for fold in find_protocol(protocol).folds(benchmark)
    ):
        truth = [
            [decide(form_of(benchmark.text_of[text], lexicon), facts[image]) for text in fold.texts]
            for image in fold.images
        ]
        assert all(value is not None for row in truth for value in row)
        assert fold.truth is not None
        assert {(int(i), int(t)) for i, t in fold.truth} == {
            *zip(*map(np.ndarray.tolist, np.nonzero(truth)), strict=True)
        }
        np.save(folder / "pools" / f"{fold.name}.npy", np.array(truth, dtype=np.float32))
    write_json(
        folder / "run.json", read_json(folder / "run.json") | {"raw_retrieval": list(PROTOCOLS)}
    )
    rows = [row for row in measure(folder)["rows"] if row["kind"] == "raw"]
    of_metric = {
        metric: [row for row in rows if row["metric"] == metric]
        for metric in (*RAW_METRICS, *OWN_METRICS)
    }
    for metric in RAW_METRICS:
        systematicity = [row for row in of_metric[metric] if row["protocol"] == "systematicity"]
        assert {row["split"] for row in systematicity} == SPLITS_OF_CREPE
        assert {row["value"] for row in of_metric[metric]} == {1.0}
        assert all(
            row["unscored"] == 0 and row["chance"] > 1 / row["items"] - 1e-6
            for row in of_metric[metric]
        )
    # The paper's rule counts other true captions as mistakes.
    assert min(row["value"] for metric in OWN_METRICS for row in of_metric[metric]) < 0.9


def test_pools_of_all_splits_have_the_same_composition(planned: tuple[Path, Prepared]) -> None:
    root, _ = planned
    benchmark = Dataset.open(root).benchmark("all")
    counts_of = {
        row["text_id"]: (row["n_objects"], row["n_attributes"], row["n_relations"])
        for row in benchmark.texts.to_pylist()
    }
    by_skill = defaultdict(set)
    for fold in find_protocol("systematicity").folds(benchmark):
        composition = Counter(counts_of[text] for text in fold.texts)
        by_skill[fold.skill].add(tuple(sorted(composition.items())))
    assert by_skill
    assert all(len(compositions) == 1 for compositions in by_skill.values())
    (certificate,) = verify_dataset(root, "all").values()
    assert {finding["fault"] for finding in certificate["findings"]} <= {"declared leak"}


def test_any_true_candidate_counts_and_chance_is_the_share_of_true_ones(tmp_path: Path) -> None:
    """Three images and their captions; the first caption is true of the second image too."""
    builder, pool = Builder(0, 3), "raw-systematicity-attribute-seen-0"
    for i in range(3):
        builder.add("systematicity", "raw", [("c", True, None)], "attribute")
        builder.items[i] |= {"split": "seen", "pool_id": pool}
        builder.candidates[i]["scene_id"] = f"s{i:04d}"
    own = [row["text_id"] for row in builder.candidates]
    builder.candidates.append({**builder.candidates[1], "text_id": own[0], "slot": "r"})
    builder.pools = [{"pool_id": pool, "text_id": text} for text in own]
    dataset = builder.write(tmp_path / "dataset")
    (fold,) = find_protocol("systematicity").folds(Dataset.open(dataset).benchmark("all"))
    folder = write_run(dataset, tmp_path / "run", lambda n: np.zeros(n))
    (folder / "pools").mkdir()
    matrix = np.eye(3, dtype=np.float32)
    matrix[fold.images.index("s0001"), fold.texts.index(own[0])] = 2.0
    np.save(folder / "pools" / f"{fold.name}.npy", matrix)
    write_json(
        folder / "run.json", read_json(folder / "run.json") | {"raw_retrieval": ["systematicity"]}
    )
    rows = {row["metric"]: row for row in measure(folder)["rows"] if row["kind"] == "raw"}
    assert [rows[metric]["value"] for metric in RAW_METRICS] == [1.0, 1.0]
    assert [rows[metric]["value"] for metric in OWN_METRICS] == pytest.approx(
        [2 / 3, 2 / 3], abs=1e-6
    )
    assert [rows[metric]["chance"] for metric in RAW_METRICS] == pytest.approx(
        [4 / 9, 4 / 9], abs=1e-6
    )
    assert [rows[metric]["chance"] for metric in OWN_METRICS] == pytest.approx(
        [1 / 3, 1 / 3], abs=1e-6
    )


def test_sides_of_a_fold_must_have_one_width(many: Path, tmp_path: Path) -> None:
    folder = write_run(many, tmp_path / "run", lambda n: np.zeros(n))
    write_json(
        folder / "run.json", read_json(folder / "run.json") | {"raw_retrieval": ["systematicity"]}
    )
    (folder / "pools").mkdir()
    for fold in find_protocol("systematicity").folds(Dataset.open(many).benchmark("all")):
        for of, width in (("images", 4), ("texts", 5)):
            np.save(
                folder / "pools" / f"{fold.name}.{of}.npy",
                np.ones((len(fold.images), width), np.float32),
            )
    with pytest.raises(UserError, match="embeddings of another width"):
        measure(folder)


def test_images_are_ranked_by_the_channel_for_that(many: Path, tmp_path: Path) -> None:
    """The first channel finds every text and the other one no image."""
    folder = write_run(many, tmp_path / "run", lambda n: np.zeros(n))
    folds = find_protocol(PROTOCOLS[0]).folds(Dataset.open(many).benchmark("all"))
    (folder / "pools").mkdir()
    for fold in folds:
        own = np.eye(len(fold.images), dtype=np.float32)
        np.save(folder / "pools" / f"{fold.name}.npy", own)
        np.save(folder / "pools" / f"{fold.name}.itc.npy", -own)
    record = read_json(folder / "run.json") | {
        "raw_retrieval": [PROTOCOLS[0]],
        "channels": ["cosine", "itc"],
    }
    for image_channel, expected in (("itc", 0.0), (None, 1.0)):
        write_json(
            folder / "run.json", record | {"channel": "cosine", "image_channel": image_channel}
        )
        results = measure(folder)
        for metric, value in zip(OWN_METRICS, (1.0, expected), strict=True):
            assert {row["value"] for row in results["rows"] if row["metric"] == metric} == {value}


def test_raw_retrieval_that_costs_too_much_is_left_out_and_named(many: Path) -> None:
    benchmark = Dataset.open(many).benchmark("all")
    needs = collect_needs(benchmark, PROTOCOLS)
    assert list(needs.folds) == list(PROTOCOLS)
    cells = sum(
        len(i) * len(t)
        for name, (i, t) in needs.pools.items()
        if name.startswith("raw-systematicity")
    )
    fewer = within_limit(needs, benchmark, passes=LIMIT // cells + 1)
    assert "systematicity" in fewer.left_out
    assert not any(name.startswith("raw-systematicity") for name in fewer.pools)
    assert within_limit(needs, benchmark, passes=1).left_out == ()


def test_captions_alone_are_asked_raw_only_and_relations_have_rows_of_their_own(
    tmp_path: Path,
) -> None:
    builder = Builder(0, 40)
    for i in range(60):
        builder.add("systematicity", "raw", [("c", True, None)], "attribute")
        foils = [("n", False, "atom")] * 4
        builder.add(
            "systematicity", "atom", [("c", True, None), *foils], ("attribute", "relation")[i % 2]
        )
    run = run_of(builder, tmp_path, lambda n: planted(builder.rng, n))
    rows = [row for row in measure(run)["rows"] if row["metric"] == "R@1" and not row["is_gap"]]
    assert {row["kind"] for row in rows} == {"atom"}
    of_skill, pooled = (
        [row for row in rows if bool(row["skill"]) == has_skill] for has_skill in (True, False)
    )
    assert {row["skill"] for row in of_skill} == {"attribute", "relation"}
    assert sum(row["items"] for row in of_skill) == sum(row["items"] for row in pooled) == 60
    assert all(row["unscored"] == 0 for row in pooled)
    folds = find_protocol("systematicity").folds(open_run(run).benchmark)
    alone = {row["item_id"] for row in builder.items if row["kind"] == "raw"}
    texts = {row["text_id"] for row in builder.candidates if row["item_id"] in alone}
    assert texts & {text for fold in folds for text in fold.texts}

"""`score audit`: tests whether a text-only model can answer each kind of item, and sums it up in a
sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.blind import (
    FEWEST_CLUSTERS,
    LEVEL,
    BlindResult,
    blind_test,
    centre,
    give_aways,
    make_pairs,
    ngram_differences,
    p_above,
    word_overlap,
    words,
)
from evaluator.audits.perplexity import LanguageModel, hardest, load_language_model
from evaluator.audits.sample import KindSample, draw_levels, draw_samples, every_question
from evaluator.audits.similarity import SentenceEncoder, audit_similarity, similar_items
from evaluator.statistics.intervals import cluster_mean
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, Dataset

CHANCE = 0.5
"""The share of pairs that are decided correctly by chance."""
EXAMPLES = 3
"""The most pairs that a hackable kind lists."""
HACKABLE, CLEAN, TOO_FEW = "hackable", "not above chance", f"fewer than {FEWEST_CLUSTERS} groups"
"""The verdicts on a kind."""
_PACKAGES = ("jackalope", "numpy", "scikit-learn", "torch", "transformers")
"""The packages whose versions the numbers depend on."""


@dataclass(frozen=True)
class AuditRequest:
    """The options of `score audit`."""

    dataset: Path
    """The folder of the dataset."""
    benchmark: str | None = None
    """The name of the benchmark; None if the dataset has one."""
    protocols: tuple[str, ...] = ()
    """The protocols to audit; empty: all but train."""
    language_model: str = "ngram"
    """The language model for perplexity: ngram, or a name or folder of a causal model."""
    sentence_encoder: str | None = None
    """The name or folder of the encoder of the similarity filter; None: it is not measured."""
    items: int = 5000
    """The most items of a kind."""
    seed: int = 0
    """The seed of items, negatives, folds and intervals."""
    device: str | None = None
    """The device of the models; None: the first GPU, else the CPU."""


def audit(request: AuditRequest, progress: Progress = SILENT) -> dict[str, Any]:
    """Audit a benchmark.

    Args:
        request: The options.
        progress: Told of each kind.

    Returns:
        The results that docs/audit.md describes.

    Raises:
        UserError: The request cannot be met.
    """
    # What is read, and by which models.
    benchmark = Dataset.open(request.dataset).benchmark(request.benchmark)
    samples = draw_samples(
        benchmark, request.protocols, most_items=request.items, seed=request.seed
    )
    encoder = None
    if request.sentence_encoder:
        encoder = SentenceEncoder(request.sentence_encoder, request.device)
    model = load_language_model(
        request.language_model, samples, seed=request.seed, device=request.device
    )
    # Each kind, and captions by level.
    kinds = []
    with progress.track("auditing", len(samples)) as advance:
        for sample in samples:
            advance(0, str(sample.kind))
            kinds.append(_audit_kind(sample, model, encoder=encoder, seed=request.seed))
            advance()
    level_samples = draw_levels(
        benchmark, request.protocols, most_items=request.items, seed=request.seed
    )
    levels = [_audit_level(sample, model) for sample in level_samples]
    # Verdicts come last: p is corrected over all kinds.
    decide(kinds)
    hackable = [kind["name"] for kind in kinds if kind["blind"]["verdict"] == HACKABLE]
    return {
        "benchmark": benchmark.name,
        "digest": benchmark.digest,
        "seed": request.seed,
        "items": request.items,
        "language_model": model.info,
        "sentence_encoder": encoder.info if encoder else None,
        "kinds": kinds,
        "levels": levels,
        "hackable": hackable,
        "sentence": _sentence(kinds, hackable),
        "versions": {name: version(name) for name in _PACKAGES},
    }


def list_similar(
    benchmark: Benchmark, protocols: Sequence[str], *, encoder: str, device: str | None
) -> list[str]:
    """List the items that COMPASS' filter would drop.

    Args:
        benchmark: The benchmark.
        protocols: The protocols to filter; empty: all but train.
        encoder: The name or folder of the sentence encoder.
        device: The device of the encoder; None: the first GPU, else the CPU.

    Returns:
        The ids of items with a negative that the encoder finds too similar to its caption.
    """
    questions = list(every_question(benchmark, protocols))
    if not questions:
        return []
    return similar_items(questions, SentenceEncoder(encoder, device))


def decide(kinds: Sequence[dict[str, Any]]) -> None:
    """Set the verdict of each kind. Only hackable kinds keep `give_aways` and `examples`.

    Args:
        kinds: The results of the kinds, which are changed.
    """
    tested = [kind["blind"] for kind in kinds if kind["blind"]["p"] is not None]
    are_above = decide_kinds([(blind["p"], blind["low"]) for blind in tested])
    for blind, is_above in zip(tested, are_above, strict=True):
        blind["verdict"] = HACKABLE if is_above else CLEAN
    for kind in kinds:
        if kind["blind"]["verdict"] != HACKABLE:
            kind["blind"].update(give_aways=[], examples=[])


def decide_kinds(tested: Sequence[tuple[float | None, float | None]]) -> list[bool]:
    """Tell which kinds are above chance, by p corrected over kinds (Holm 1979) and by the interval.

    Args:
        tested: (p, lower end of the interval) of each kind; None for a kind that was not tested.

    Returns:
        Whether each kind is above chance.

    Example:
        >>> decide_kinds([(0.001, 0.6), (0.02, 0.6), (0.001, 0.4), (None, None)])
        [True, True, False, False]
    """
    from statsmodels.stats.multitest import multipletests

    known = [place for place, (p, _) in enumerate(tested) if p is not None]
    are_above = [False] * len(tested)
    if not known:
        return are_above
    known_p = [tested[place][0] for place in known]
    rejected = multipletests(known_p, LEVEL, "holm")[0]
    for place, is_significant in zip(known, rejected, strict=True):
        low = tested[place][1]
        # p and the interval rest on different models; both must agree.
        are_above[place] = bool(is_significant and low is not None and low > CHANCE)
    return are_above


def _audit_kind(
    sample: KindSample, model: LanguageModel, *, encoder: SentenceEncoder | None, seed: int
) -> dict[str, Any]:
    perplexities = model.judge(sample.questions)
    nearest, measures = _compare_with_hardest(sample, perplexities)
    # A model of the benchmark's own texts knows them, so its perplexities are no feature.
    for_test = None if model.own else perplexities
    return {
        "name": str(sample.kind),
        **sample.kind._asdict(),
        **measures,
        "difference": _difference(nearest),
        "similarity": audit_similarity(sample.questions, encoder) if encoder else None,
        "centre": _centre(sample),
        "blind": _blind(sample, for_test, seed),
    }


def _audit_level(sample: KindSample, model: LanguageModel) -> dict[str, Any]:
    """Length and perplexity of captions of one level, each against the hardest of all its
    negatives."""
    _, measures = _compare_with_hardest(sample, model.judge(sample.questions))
    names = {name: getattr(sample.kind, name) for name in ("protocol", "kind", "skill")}
    return {**names, "level": sample.level, **measures}


def _compare_with_hardest(
    sample: KindSample, perplexities: Sequence[np.ndarray]
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """The pairs of a true text and its hardest negative, and the entries that results of kinds and
    levels share."""
    questions = sample.questions
    places = np.array([hardest(values) for values in perplexities])
    nearest = []
    for question, place in zip(questions, places, strict=True):
        nearest.append((question.caption, question.texts[place]))
    return nearest, {
        "items": sample.available,
        "sampled": len(questions),
        "clusters": len({question.cluster for question in questions}),
        "negatives_an_item": float(np.mean([len(question.negatives) for question in questions])),
        "length": _length(nearest),
        "perplexity": _perplexity(perplexities, places),
    }


def _length(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The lengths of true and false texts in words and in characters."""
    measures: dict[str, Callable[[str], int]] = {
        "words": lambda text: len(words(text)),
        "characters": len,
    }
    lengths = {}
    for name, measure in measures.items():
        true = np.array([measure(true) for true, _ in pairs], dtype=float)
        false = np.array([measure(false) for _, false in pairs], dtype=float)
        lengths[name] = _compare(true, false, np.mean)
    return lengths


def _compare(
    true: np.ndarray, false: np.ndarray, middle: Callable[[np.ndarray], float]
) -> dict[str, Any]:
    r = rank_biserial(true, false)
    return {
        "true": float(middle(true)),
        "false": float(middle(false)),
        "r": r,
        "size": size_of(r),
        "lower": share_lower(true, false),
    }


def rank_biserial(true: np.ndarray, false: np.ndarray) -> float:
    """Compute the rank-biserial correlation of two groups of numbers (COMPASS, appendix B.3).

    r = 1 − 2U/(n₁n₂), where U = #(true > false) + ½ ties over all n₁·n₂ pairs.

    Args:
        true: (n₁,) numbers of true texts; at least one.
        false: (n₂,) numbers of false texts; at least one.

    Returns:
        r in −1..1, above 0 if true values are lower.

    Example:
        >>> rank_biserial(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
        0.75
    """
    ordered = np.sort(false)
    lower = np.searchsorted(ordered, true, "left")
    lower_or_equal = np.searchsorted(ordered, true, "right")
    # 2U: a lower number counts twice, a tie once.
    twice_u = lower + lower_or_equal
    n_comparisons = len(true) * len(false)
    return float(1 - twice_u.sum() / n_comparisons)


def size_of(r: float) -> str:
    """Name the size of an effect as COMPASS does.

    Args:
        r: A rank-biserial correlation.

    Returns:
        |r| below .1 is negligible, below .3 small, else medium or large.

    Example:
        >>> size_of(-0.05), size_of(0.1), size_of(-0.3)
        ('negligible', 'small', 'medium or large')
    """
    if abs(r) < 0.1:
        return "negligible"
    if abs(r) < 0.3:
        return "small"
    return "medium or large"


def share_lower(true: np.ndarray, false: np.ndarray) -> float:
    """Compute the share of pairs in which the true number is lower.

    Args:
        true: (n,) the number of the true text of each pair.
        false: (n,) the number of its false text.

    Returns:
        The share in 0..1; ties count half.

    Example:
        >>> share_lower(np.array([1.0, 2.0]), np.array([2.0, 2.0]))
        0.75
    """
    return float(np.mean((true < false) + 0.5 * (true == false)))


def _difference(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """How far the two texts of a pair differ on average."""
    overlaps = [word_overlap(true, false) for true, false in pairs]
    ngrams = {}
    for n in (1, 2, 3):
        differences = [ngram_differences(true, false, n) for true, false in pairs]
        ngrams[str(n)] = float(np.mean(differences))
    return {"jaccard": float(np.mean(overlaps)), "ngrams": ngrams}


def _perplexity(perplexities: Sequence[np.ndarray], hardest_places: np.ndarray) -> dict[str, Any]:
    """The perplexities of true texts and of their hardest negatives; None without a scored pair."""
    all_pairs = []
    for values, place in zip(perplexities, hardest_places, strict=True):
        all_pairs.append((values[0], values[place]))
    pairs = np.array(all_pairs)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    counts = {"pairs": len(pairs), "unscored": len(perplexities) - len(pairs)}
    if not len(pairs):
        return {"true": None, "false": None, "r": None, "size": None, "lower": None, **counts}
    return {**_compare(pairs[:, 0], pairs[:, 1], np.median), **counts}


def _centre(sample: KindSample) -> dict[str, Any] | None:
    """How often the true text is the centre of its question; None if no question has several
    negatives."""
    several = [question.texts for question in sample.questions if len(question.negatives) > 1]
    if not several:
        return None
    chance = np.mean([1 / len(texts) for texts in several])
    return {"value": centre(several), "chance": float(chance)}


def _blind(
    sample: KindSample, perplexities: Sequence[np.ndarray] | None, seed: int
) -> dict[str, Any]:
    """The blind test of a kind, without its verdict unless it has too few clusters."""
    questions = sample.questions
    clusters = np.array([question.cluster for question in questions])
    if len(set(clusters)) < FEWEST_CLUSTERS:
        unknown = dict.fromkeys(("value", "low", "high", "p"))
        return {**unknown, "chance": CHANCE, "learners": {}, "verdict": TOO_FEW}
    pair_perplexities = np.full((len(questions), 2), np.nan)
    if perplexities is not None:
        rows = []
        for values, question in zip(perplexities, questions, strict=True):
            rows.append(values[[0, 1 + question.drawn_negative]])
        pair_perplexities = np.array(rows)
    pairs = make_pairs(
        [question.caption for question in questions],
        [question.negative for question in questions],
        clusters=clusters.tolist(),
        perplexities=pair_perplexities,
    )
    blind = blind_test(pairs, seed)
    estimate = cluster_mean(blind.outcomes, clusters)
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "chance": CHANCE,
        "p": p_above(blind.outcomes, clusters, CHANCE, seed),
        "learners": blind.learners,
        "give_aways": give_aways(pairs),
        "examples": _examples(sample, blind),
    }


def _examples(sample: KindSample, blind: BlindResult) -> list[dict[str, str]]:
    """At most EXAMPLES correctly decided pairs, clearest decisions first; no cluster or text
    repeats."""
    examples: list[dict[str, str]] = []
    used: set[str] = set()
    for row in np.argsort(-blind.decisions, kind="stable").tolist():
        question = sample.questions[row]
        # Decisions fall, so what follows a wrong or undecided pair is not right either.
        if blind.outcomes[row] < 1 or len(examples) == EXAMPLES:
            break
        names = {question.cluster, question.caption, question.negative}
        if not used.isdisjoint(names):
            continue
        used |= names
        examples.append(
            {"item_id": question.item_id, "true": question.caption, "false": question.negative}
        )
    return examples


def _sentence(kinds: Sequence[dict[str, Any]], hackable: list[str]) -> str:
    unjudged = [kind["name"] for kind in kinds if kind["blind"]["verdict"] == TOO_FEW]
    rest = ""
    if unjudged:
        rest = f" Not judged, because they have too few groups: {', '.join(unjudged)}."
    if hackable:
        names = []
        for kind in kinds:
            if kind["name"] in hackable:
                names.append(f"{kind['name']} ({100 * kind['blind']['value']:.1f}%)")
        return f"Hackable without looking at the image: {', '.join(names)}.{rest}"
    if len(unjudged) == len(kinds):
        return f"Nothing could be judged: every kind has fewer than {FEWEST_CLUSTERS} groups."
    return f"No kind is hackable: no blind test is above chance.{rest}"

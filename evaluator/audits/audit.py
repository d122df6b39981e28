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
    Blind,
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
from evaluator.audits.sample import Sample, draw_levels, draw_samples, every_question
from evaluator.audits.similarity import SentenceEncoder, audit_similarity, similar_items
from evaluator.statistics.intervals import cluster_mean
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, Dataset

CHANCE = 0.5
EXAMPLES = 3
HACKABLE, CLEAN, TOO_FEW = "hackable", "not above chance", f"fewer than {FEWEST_CLUSTERS} groups"
_PACKAGES = ("jackalope", "numpy", "scikit-learn", "torch", "transformers")


@dataclass(frozen=True)
class Request:
    """The options of `score audit`."""

    dataset: Path
    benchmark: str | None = None
    protocols: tuple[str, ...] = ()
    language_model: str = "ngram"
    sentence_encoder: str | None = None
    items: int = 5000
    seed: int = 0
    device: str | None = None


def audit(request: Request, progress: Progress = SILENT) -> dict[str, Any]:
    """Audit a benchmark; returns the results that docs/audit.md describes. Raises UserError for a
    request that cannot be met."""
    benchmark = Dataset.open(request.dataset).benchmark(request.benchmark)
    samples = draw_samples(benchmark, request.protocols, request.items, request.seed)
    encoder = (
        SentenceEncoder(request.sentence_encoder, request.device)
        if request.sentence_encoder
        else None
    )
    model = load_language_model(request.language_model, samples, request.seed, request.device)
    kinds = []
    with progress.track("auditing", len(samples)) as advance:
        for sample in samples:
            advance(0, str(sample.kind))
            kinds.append(_audit_kind(sample, model, encoder, request.seed))
            advance()
    levels = [
        _audit_level(sample, model)
        for sample in draw_levels(benchmark, request.protocols, request.items, request.seed)
    ]
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
    benchmark: Benchmark, protocols: Sequence[str], encoder: str, device: str | None
) -> list[str]:
    """The ids of items that COMPASS' filter would drop: `encoder` finds a negative too similar to
    its caption."""
    questions = list(every_question(benchmark, protocols))
    return similar_items(questions, SentenceEncoder(encoder, device)) if questions else []


def decide(kinds: Sequence[dict[str, Any]]) -> None:
    """Set each kind's verdict. Only hackable kinds keep `give_aways` and `examples`."""
    tested = [kind["blind"] for kind in kinds if kind["blind"]["p"] is not None]
    hackable = decide_kinds([(blind["p"], blind["low"]) for blind in tested])
    for blind, is_hackable in zip(tested, hackable, strict=True):
        blind["verdict"] = HACKABLE if is_hackable else CLEAN
    for kind in kinds:
        if kind["blind"]["verdict"] != HACKABLE:
            kind["blind"].update(give_aways=[], examples=[])


def decide_kinds(tested: Sequence[tuple[float | None, float | None]]) -> list[bool]:
    """Whether each kind is above chance: by p corrected over kinds (Holm 1979), and by its
    interval.

    tested: (p, lower end of the interval) of each kind; None for a kind that was not tested.
    """
    from statsmodels.stats.multitest import multipletests

    known = [i for i, (p, _) in enumerate(tested) if p is not None]
    rejected = multipletests([tested[i][0] for i in known], LEVEL, "holm")[0] if known else []
    above = [False] * len(tested)
    for i, is_significant in zip(known, rejected, strict=True):
        low = tested[i][1]
        above[i] = bool(is_significant and low is not None and low > CHANCE)
    return above


def _audit_kind(
    sample: Sample, model: LanguageModel, encoder: SentenceEncoder | None, seed: int
) -> dict[str, Any]:
    perplexities = model.judge(sample.questions)
    nearest, measured = _against_hardest(sample, perplexities)
    return {
        "name": str(sample.kind),
        **sample.kind._asdict(),
        **measured,
        "difference": _difference(nearest),
        "similarity": audit_similarity(sample.questions, encoder) if encoder else None,
        "centre": _centre(sample),
        "blind": _blind(sample, None if model.own else perplexities, seed),
    }


def _audit_level(sample: Sample, model: LanguageModel) -> dict[str, Any]:
    """Length and perplexity of captions of one level, each against the hardest of all its
    negatives."""
    names = {name: getattr(sample.kind, name) for name in ("protocol", "kind", "skill")}
    return {
        **names,
        "level": sample.level,
        **_against_hardest(sample, model.judge(sample.questions))[1],
    }


def _against_hardest(
    sample: Sample, perplexities: Sequence[np.ndarray]
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """The pairs of a true text and its hardest negative, and the entries that results of kinds and
    levels share."""
    questions = sample.questions
    hard = np.array([hardest(values) for values in perplexities])
    nearest = [(q.caption, q.texts[place]) for q, place in zip(questions, hard, strict=True)]
    return nearest, {
        "items": sample.available,
        "sampled": len(questions),
        "clusters": len({q.cluster for q in questions}),
        "negatives_an_item": float(np.mean([len(q.negatives) for q in questions])),
        "length": _length(nearest),
        "perplexity": _perplexity(perplexities, hard),
    }


def _length(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    measures: dict[str, Callable[[str], int]] = {
        "words": lambda text: len(words(text)),
        "characters": len,
    }
    found = {}
    for name, count in measures.items():
        true, false = np.array([[count(text) for text in pair] for pair in pairs], dtype=float).T
        found[name] = _compared(true, false, np.mean)
    return found


def _compared(
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
    """r = 1 − 2U/(n₁n₂), U = #(true > false) + ½ ties over all n₁·n₂ pairs; −1..1, above 0 if true
    values are lower.

    COMPASS, appendix B.3. Neither array may be empty.

    >>> rank_biserial(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.75
    """
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, "left") + np.searchsorted(ordered, true, "right")
    return float(1 - below.sum() / (len(true) * len(false)))


def size_of(r: float) -> str:
    """COMPASS' name for the size of an effect: |r| below .1 is negligible, below .3 small, else
    medium or large.

    >>> size_of(-0.05), size_of(0.1), size_of(-0.3)
    ('negligible', 'small', 'medium or large')
    """
    return "negligible" if abs(r) < 0.1 else "small" if abs(r) < 0.3 else "medium or large"


def share_lower(true: np.ndarray, false: np.ndarray) -> float:
    """Share of pairs (true[i], false[i]) in which the true number is lower; ties count half."""
    return float(np.mean((true < false) + 0.5 * (true == false)))


def _difference(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        "jaccard": float(np.mean([word_overlap(*pair) for pair in pairs])),
        "ngrams": {
            str(n): float(np.mean([ngram_differences(*pair, n) for pair in pairs]))
            for n in (1, 2, 3)
        },
    }


def _perplexity(perplexities: Sequence[np.ndarray], hard: np.ndarray) -> dict[str, Any]:
    pairs = np.array(
        [(values[0], values[place]) for values, place in zip(perplexities, hard, strict=True)]
    )
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    counts = {"pairs": len(pairs), "unscored": len(perplexities) - len(pairs)}
    if not len(pairs):
        return {"true": None, "false": None, "r": None, "size": None, "lower": None, **counts}
    return {**_compared(pairs[:, 0], pairs[:, 1], np.median), **counts}


def _centre(sample: Sample) -> dict[str, Any] | None:
    several = [q.texts for q in sample.questions if len(q.negatives) > 1]
    if not several:
        return None
    return {
        "value": centre(several),
        "chance": float(np.mean([1 / len(texts) for texts in several])),
    }


def _blind(sample: Sample, perplexities: Sequence[np.ndarray] | None, seed: int) -> dict[str, Any]:
    questions = sample.questions
    clusters = np.array([q.cluster for q in questions])
    if len(set(clusters)) < FEWEST_CLUSTERS:
        nothing = dict.fromkeys(("value", "low", "high", "p"))
        return {**nothing, "chance": CHANCE, "learners": {}, "verdict": TOO_FEW}
    known = np.full((len(questions), 2), np.nan)
    if perplexities is not None:
        known = np.array(
            [values[[0, 1 + q.drawn]] for values, q in zip(perplexities, questions, strict=True)]
        )
    pairs = make_pairs(
        [q.caption for q in questions], [q.negative for q in questions], clusters.tolist(), known
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


def _examples(sample: Sample, blind: Blind) -> list[dict[str, str]]:
    """At most EXAMPLES correctly decided pairs, clearest decisions first; no cluster or text
    repeats."""
    found: list[dict[str, str]] = []
    used: set[str] = set()
    for i in np.argsort(-blind.decisions, kind="stable").tolist():
        question = sample.questions[i]
        if blind.outcomes[i] < 1 or len(found) == EXAMPLES:
            break
        if used.isdisjoint({question.cluster, question.caption, question.negative}):
            found.append(
                {"item_id": question.item_id, "true": question.caption, "false": question.negative}
            )
            used.update((question.cluster, question.caption, question.negative))
    return found


def _sentence(kinds: Sequence[dict[str, Any]], hackable: list[str]) -> str:
    unjudged = [kind["name"] for kind in kinds if kind["blind"]["verdict"] == TOO_FEW]
    rest = (
        f" Not judged, because they have too few groups: {', '.join(unjudged)}." if unjudged else ""
    )
    if hackable:
        names = ", ".join(
            f"{k['name']} ({100 * k['blind']['value']:.1f}%)"
            for k in kinds
            if k["name"] in hackable
        )
        return f"Hackable without looking at the image: {names}.{rest}"
    if len(unjudged) == len(kinds):
        return f"Nothing could be judged: every kind has fewer than {FEWEST_CLUSTERS} groups."
    return f"No kind is hackable: no blind test is above chance.{rest}"

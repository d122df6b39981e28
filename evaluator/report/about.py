"""What the page says of its splits: what is held out in them, and whether true and false texts are equally familiar."""

from collections.abc import Sequence

from generator.dataset.reader import Benchmark

_CLASSES = "gzsl"
"""The design of class lists, whose splits are lists of labels (docs/splits.md)."""


def about_splits(benchmarks: Sequence[Benchmark], never_shown: bool) -> list[str]:
    """Sentences about the splits of some benchmarks, each once.

    `never_shown`: whether the models' training is known to show nothing that is held out. A benchmark without a holdout, such
    as one made from scores alone, has no sentence.
    """
    return list(dict.fromkeys(sentence for each in benchmarks for sentence in _about(each, never_shown)))


def _about(benchmark: Benchmark, never_shown: bool) -> list[str]:
    holdout = benchmark.holdout
    if not holdout:
        return []
    lacking = "that no training image or text contains" if never_shown else "that the train split holds out"
    if holdout.get("design") == _CLASSES:
        splits = f"Labels of id_val and id_test are labels of training; ood_val and ood_test have labels {lacking}."
        told = (
            "ZSL compares unseen labels with one another. GZSL compares them with labels of training too, so its wrong "
            "labels may be more familiar than the true one."
        )
    else:
        of = {
            "bindings of an attribute value and an object": holdout.get("bindings"),
            "relations between two objects": holdout.get("triples"),
        }
        what = " and ".join(name for name, found in of.items() if found) or "combinations"
        splits = f"In seen, partial and unseen scenes no, some and all objects show {what} {lacking}."
        equal = benchmark.manifest.get("equal_familiarity") is not False
        told = (
            "The true text and its foil are equally familiar."
            if equal
            else "The foil may be more or less familiar than the true text."
        )
    return [splits, told]

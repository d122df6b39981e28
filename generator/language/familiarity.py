"""How many held-out bindings and relation triples a form names."""

from generator.holdout.holdout import Holdout
from generator.language.form import Form, Link, Mention


def count_held_out(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding plus relations that name a held-out triple.

    Denials count: "a cube that is not red" names (red, cube).
    """
    return count_bindings(form, holdout) + count_triples(form, holdout)


def count_bindings(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding."""
    return sum(_names_binding(mention, holdout) for mention in form.objects)


def count_triples(form: Form, holdout: Holdout) -> int:
    """Number of relations that are held out between the categories of their two mentions."""
    return sum(names_triple(form, link, holdout) for link in form.relations) if holdout.triples else 0


def names_triple(form: Form, link: Link, holdout: Holdout) -> bool:
    """Whether a relation of a form is held out between the categories of its two mentions."""
    subject, other = form.objects[link.subject].category, form.objects[link.object].category
    return subject is not None and other is not None and holdout.holds_out_triple(subject, link.relation, other)


def equally_familiar(one: Form, other: Form, holdout: Holdout) -> bool:
    """Whether two forms name equally many held-out bindings and equally many held-out triples, and whether both or
    neither name a value or object that is absent from training."""
    counts = [(count_bindings(form, holdout), count_triples(form, holdout)) for form in (one, other)]
    return counts[0] == counts[1] and names_absent(one, holdout) == names_absent(other, holdout)


def relations_fit_split(form: Form, split: str, holdout: Holdout) -> bool:
    """Whether the relations that a caption names are as familiar as a split whose scenes show held-out ones.

    In `unseen` all of them must be held out. In `partial` the caption must name something that is held out.
    """
    held_out = [names_triple(form, link, holdout) for link in form.relations]
    return all(held_out) if split == "unseen" else not held_out or any(held_out) or count_held_out(form, holdout) > 0


def names_absent(form: Form, holdout: Holdout) -> bool:
    """Whether a form names a value or object that is absent from training."""
    if not (holdout.absent_objects or holdout.absent_values):
        return False
    pairs = [pair for mention in form.objects for pair in (*mention.attributes, *mention.without)]
    categories = [mention.category for mention in form.objects if mention.category is not None]
    return any(name in holdout.absent_objects for name in categories) or any(
        (kind == holdout.kind and value in holdout.absent_values)
        or (kind == holdout.category and value in holdout.absent_objects)
        for kind, value in pairs
    )


def _names_binding(mention: Mention, holdout: Holdout) -> bool:
    category = mention.category
    if category is not None:
        for kind, value in mention.attributes:
            if kind == holdout.kind and holdout.holds_out(value, category):
                return True
    return bool(mention.without) and _denies_binding(mention, holdout)


def _denies_binding(mention: Mention, holdout: Holdout) -> bool:
    pairs = (*mention.attributes, *mention.without)
    values = [value for kind, value in pairs if kind == holdout.kind]
    categories = [value for kind, value in mention.without if kind == holdout.category]
    if mention.category is not None:
        categories.append(mention.category)
    return any(holdout.holds_out(value, category) for value in values for category in categories)

"""How much of what is held out a form names."""

from generator.holdout.holdout import Holdout
from generator.language.form import Form, Link, Mention


def named_held_out(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding, and of relations that name a held-out triple, asserted or denied:
    "a cube that is not red" names (red, cube)."""
    return bindings_held_out(form, holdout) + triples_held_out(form, holdout)


def bindings_held_out(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding."""
    return sum(_names(mention, holdout) for mention in form.objects)


def triples_held_out(form: Form, holdout: Holdout) -> int:
    """Number of relations between mentioned categories that are held out."""
    return sum(link_held_out(form, link, holdout) for link in form.relations) if holdout.triples else 0


def link_held_out(form: Form, link: Link, holdout: Holdout) -> bool:
    """Whether a relation that a form names is held out between the categories of its mentions."""
    subject, thing = form.objects[link.subject].category, form.objects[link.object].category
    return subject is not None and thing is not None and holdout.holds_out_triple(subject, link.relation, thing)


def alike(one: Form, other: Form, holdout: Holdout) -> bool:
    """Whether two forms name as many held-out bindings and as many held-out triples, and both or neither an absent atom."""
    counts = [(bindings_held_out(form, holdout), triples_held_out(form, holdout)) for form in (one, other)]
    return counts[0] == counts[1] and names_absent(one, holdout) == names_absent(other, holdout)


def names_absent(form: Form, holdout: Holdout) -> bool:
    """Whether a form names a value or object that is absent from training."""
    said = [pair for mention in form.objects for pair in (*mention.attributes, *mention.without)]
    categories = [mention.category for mention in form.objects if mention.category is not None]
    return any(name in holdout.absent_objects for name in categories) or any(
        (kind == holdout.kind and value in holdout.absent_values)
        or (kind == holdout.category and value in holdout.absent_objects)
        for kind, value in said
    )


def _names(mention: Mention, holdout: Holdout) -> bool:
    category = mention.category
    if category is not None:
        for kind, value in mention.attributes:
            if kind == holdout.kind and holdout.holds_out(value, category):
                return True
    return bool(mention.without) and _denies(mention, holdout)


def _denies(mention: Mention, holdout: Holdout) -> bool:
    said = (*mention.attributes, *mention.without)
    values = [value for kind, value in said if kind == holdout.kind]
    categories = [value for kind, value in mention.without if kind == holdout.category]
    if mention.category is not None:
        categories.append(mention.category)
    return any(holdout.holds_out(value, category) for value in values for category in categories)

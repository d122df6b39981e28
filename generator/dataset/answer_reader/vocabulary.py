"""The words by which clauses state, deny and qualify, in English.

`translations` maps words of other languages to these.
"""


def words(text: str) -> frozenset[str]:
    """Return the set of words of a text.

    Args:
        text: Words between white space.

    Returns:
        Each of them once.

    Example:
        >>> sorted(words("is are"))
        ['are', 'is']
    """
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, in order.

    Args:
        text: Phrases between slashes.

    Returns:
        The phrases without white space around them.

    Example:
        >>> phrases("hold on / scratch that")
        ('hold on', 'scratch that')
    """
    return tuple(phrase.strip() for phrase in text.split("/"))


LABEL_NOUNS = words(
    "option options caption captions choice choices image images picture pictures photo statement "
    "statements description descriptions letter sentence candidate text figure alternative label "
    "answer number img pic assignment pairing variant version"
)
"""What options are called: "option B", "caption B"."""
ANSWER_NOUNS = words(
    "answer answers verdict conclusion choice selection decision pick response prediction result "
    "assistant ans output solution guess"
)
"""What the reply to the question is called: "answer: B"."""
PICTURE_NOUNS = words("image images picture pictures photo figure scene")
"""What the image is called."""
COPULAS = words("is its are be was being becomes remains equals")
PRONOUNS = words("this that it which these they c ce")
PREPOSITIONS = words("in of for to with than as by from on under about between")

ACCEPTING = words(
    "correct right true accurate accurately correctly truthful valid best better closest matches "
    "match matching matched describes describe described describing fits fit fitting corresponds "
    "correspond corresponding consistent holds reflects reflect captures agrees agree aligns "
    "align aligned works applies supported supports confirms confirmed appropriate suitable "
    "preferable closer likely likelier faithful precise exact winner yes survives passes wins "
    "prevails support"
)
"""Adjectives and verbs by which a clause accepts an option."""
REJECTING = words(
    "false wrong incorrect incorrectly inaccurate inaccurately untrue invalid mismatch mismatched "
    "mismatches contradicts contradict contradicted contradictory inconsistent impossible "
    "eliminated excluded rejected discarded dismissed fails fail misdescribes misrepresents swaps "
    "swapped reverses reversed flawed worse implausible unlikely no unsupported ruled misses "
    "imprecise unfaithful backwards backward error errors flaw flaws disagree conflict disagrees "
    "conflicts clashes misstates mischaracterizes"
)
"""Adjectives and verbs by which a clause rejects an option."""
EXCLUDING = words(
    "retract withdraw exclude excludes excluding reject rejects eliminate eliminates discard "
    "dismiss unlike rule rules ruling"
)
"""Verbs whose object is the rejected option: "we can exclude A"."""
NEGATORS = words("not none never neither nor no hardly cannot without nowhere")
DEPICTING = words(
    "show depict shown depicted represent appear exist apply mention portray illustrate contain "
    "hold work"
)
"""With a negator, these verbs reject an option: "A does not show the scene"."""
CHOOSING = words(
    "choose chose choosing decided settle select selected selecting pick picking accept favor "
    "favour get go going vote prefer picked lean leaning want take taking submit"
)
BELIEVING = words("think believe say guess suppose conclude answer infer")
CONCLUDING = words(
    "so therefore thus hence overall accordingly consequently ultimately finally leaving leaves "
    "summary"
)
HEDGING = words("could might may possibly perhaps maybe")
NONE_OF_THEM = words("none both neither all unclear unknown undetermined nothing ambiguous")
"""What an answer says in place of one label."""
CONTRASTING = words("but however though yet")
"""Conjunctions that end what an answer supposes, or believed at first."""

FILLERS = words(
    "the a an it this that i we my me us is are be am was would will should must has have to do "
    "does did can of in here there then just only indeed clearly definitely certainly probably "
    "most likely very well ok okay sure and therefore so thus hence as final correct letter one "
    "ones which single both final's following s best below above with selected choose given"
)
"""Words that can stand beside a label without changing what is said about it."""

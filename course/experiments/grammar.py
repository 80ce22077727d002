"""A checker for the toy kingdom: which lines can its grammar write, and which of them are new."""

from collections.abc import Collection
from dataclasses import dataclass

from course.data.kingdom import HEADLINE_VERBS, NOUNS, TRAITS


@dataclass(frozen=True)
class Tally:
    """What was found in a text.

    Attributes:
        n_lines: lines that end, a last one without a line break left out.
        n_grammatical: those of them that the grammar can write.
        n_new: those of the grammatical ones that the training text does not hold.
    """

    n_lines: int
    n_grammatical: int
    n_new: int

    @property
    def share(self) -> float:
        """Return the share of lines that are grammatical, 0 to 1."""
        return self.n_grammatical / max(1, self.n_lines)


def tally(texts: Collection[str], known: Collection[str]) -> Tally:
    """Count the lines of some texts.

    Args:
        known: the lines of the training text.

    >>> tally(["dog bites man.\\nman bites boy.\\nboy bites.\\nma"], known={"dog bites man."})
    Tally(n_lines=3, n_grammatical=2, n_new=1)
    """
    lines = [line for text in texts for line in text.split("\n")[:-1]]
    grammatical = [line for line in lines if is_sentence(line)]
    return Tally(len(lines), len(grammatical), sum(line not in known for line in grammatical))


def is_sentence(line: str) -> bool:
    """Return whether the kingdom's grammar can write a line: a headline or a tale.

    >>> [is_sentence(f"the {noun} trimmed his beard.") for noun in ("king", "queen", "night")]
    [True, False, False]
    """
    words = line.removesuffix(".").split(" ")
    return line.endswith(".") and (_is_headline(words) or _is_tale(words))


def _is_headline(words: list[str]) -> bool:
    """Two different beings that can bite, and a verb between them."""
    match words:
        case [first, verb, second]:
            beings = {first, second}
            can_bite = all({"male", "female", "single"} & _traits(one) for one in beings)
            return len(beings) == 2 and can_bite and verb in HEADLINE_VERBS
    return False


def _is_tale(words: list[str]) -> bool:
    """A noun and a deed of one of its traits; an adjective, if there is one, is of another.

    Places come without "the", all other nouns with it.
    """
    has_the = words[0] == "the"
    rest = words[has_the:]
    for n_adjectives in (0, 1):
        adjective, rest_of_it = rest[:n_adjectives], rest[n_adjectives:]
        noun, deed = rest_of_it[:1], rest_of_it[1:]
        traits = _traits(*noun)
        is_place = bool({"city", "country"} & traits)
        deed_of = {trait for trait in traits if " ".join(deed) in TRAITS[trait][1].split(" | ")}
        adjective_of = {trait for trait in traits if adjective in ([], [TRAITS[trait][0]])}
        are_two = any(one != other for one in adjective_of for other in deed_of)
        if traits and has_the != is_place and are_two:
            return True
    return False


def _traits(noun: str = "") -> set[str]:
    return set(NOUNS.get(noun, "").split())

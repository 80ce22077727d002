"""The toy kingdom: a small corpus written by a grammar, so that no lesson needs the network.

Every noun is a bundle of traits (`NOUNS`), and every trait has words of its own (`TRAITS`): a
king is royal, male and grown, so he wears a crown, trims his beard and turns grey. The contexts
of a word are the sum of its traits' contexts, and that is why the arithmetic works: king - man is
royal in place of common; woman is common, female and grown; together they are royal, female and
grown, and that is the queen.

Measured with skip-gram (negative sampling, 15 epochs, windows of 2 and 4, widths of 16 and 32), on
the default text and 10 seeds: king - man + woman is queen each time, and of all 180 `ANALOGIES` at
least 95.6 % hold.
"""

import random
from collections.abc import Iterator
from functools import cache
from itertools import permutations

NOUNS = {
    "man": "common male grown",
    "woman": "common female grown",
    "king": "royal male grown",
    "queen": "royal female grown",
    "prince": "royal male young",
    "princess": "royal female young",
    "boy": "common male young",
    "girl": "common female young",
    "wizard": "magic male grown",
    "witch": "magic female grown",
    "dog": "canine single grown",
    "dogs": "canine plural grown",
    "puppy": "canine single young",
    "cat": "feline single grown",
    "cats": "feline plural grown",
    "kitten": "feline single young",
    "paris": "french city",
    "france": "french country",
    "rome": "italian city",
    "italy": "italian country",
    "athens": "greek city",
    "greece": "greek country",
    "day": "light hours",
    "night": "dark hours",
    "sun": "light sky",
    "moon": "dark sky",
}
"""Noun -> its traits."""

TRAITS = {
    "common": ("poor", "worked in the field | lived in a hut | swept the floor"),
    "royal": ("noble", "wore a golden crown | ruled the land | sat on the throne"),
    "magic": ("strange", "cast a spell | brewed a potion | rode a dragon"),
    "male": ("bearded", "trimmed his beard | lost his hat | sang to himself"),
    "female": ("graceful", "braided her hair | lost her ring | sang to herself"),
    "grown": ("old", "turned grey | slept badly | remembered the war"),
    "young": ("little", "played all day | grew fast | cried for milk"),
    "canine": ("loyal", "barked at the gate | dug up a bone | fetched a stick"),
    "feline": ("sly", "purred by the fire | caught a mouse | climbed the roof"),
    "single": ("lone", "stayed alone | walked apart"),
    "plural": ("many", "ran together | fought each other"),
    "french": ("merry", "loved wine | baked bread"),
    "italian": ("ancient", "pressed olives | built roads"),
    "greek": ("windy", "gathered honey | carved marble"),
    "city": ("crowded", "rang its bells | closed its gates | paved its streets"),
    "country": ("wide", "ploughed its soil | guarded its borders | crossed its rivers"),
    "light": ("bright", "woke the birds | warmed the stones | chased the fog"),
    "dark": ("pale", "called the owls | cooled the stones | hushed the birds"),
    "hours": ("long", "passed quickly | came again | seemed endless"),
    "sky": ("round", "rose over the hill | hid behind a cloud | shone on the sea"),
}
"""Trait -> (its adjective, its deeds)."""

HEADLINE_VERBS = ("bites", "chases", "sees")
OPENING = ("dog bites man.", "man bites dog.")
"""The first two sentences of every text: the same words, and only their order tells who bites."""


def kingdom_text(n_sentences: int = 4000, seed: int = 0) -> str:
    """Return a text of `n_sentences` lines, one sentence each: lower-case words and a full stop.

    The same arguments give the same text. The default has about 110,000 characters.

    >>> print(kingdom_text(4))
    dog bites man.
    man bites dog.
    the sun warmed the stones.
    the moon cooled the stones.
    """
    rng = random.Random(seed)
    sentences = [*OPENING, *(_sentence(rng) for _ in range(n_sentences - len(OPENING)))]
    return "".join(sentence + "\n" for sentence in sentences[:n_sentences])


def _sentence(rng: random.Random) -> str:
    """Return a headline ("king chases cat.") or a tale.

    A tale is a noun, a deed of one of its traits, and half the time an adjective of another.
    """
    if rng.random() < 0.05:
        first, second = rng.sample(_ACTORS, 2)
        return f"{first} {rng.choice(HEADLINE_VERBS)} {second}."
    noun = rng.choice(list(NOUNS))
    adjective_of, deed_of = rng.sample(NOUNS[noun].split(), 2)
    words = [noun, rng.choice(TRAITS[deed_of][1].split(" | "))]
    if rng.random() < 0.5:
        words.insert(0, TRAITS[adjective_of][0])
    if noun not in _PLACES:
        words.insert(0, "the")
    return " ".join(words) + "."


@cache
def language() -> frozenset[str]:
    """Return every sentence that the grammar can write.

    >>> [f"the {noun} trimmed his beard." in language() for noun in ("king", "queen", "night")]
    [True, False, False]
    """
    headlines = (f"{a} {verb} {b}." for a, b in permutations(_ACTORS, 2) for verb in HEADLINE_VERBS)
    return frozenset([*headlines, *(tale for noun in NOUNS for tale in _tales(noun))])


def _tales(noun: str) -> Iterator[str]:
    the = "" if noun in _PLACES else "the "
    for adjective_of, deed_of in permutations(NOUNS[noun].split(), 2):
        for deed in TRAITS[deed_of][1].split(" | "):
            yield f"{the}{noun} {deed}."
            yield f"{the}{TRAITS[adjective_of][0]} {noun} {deed}."


def _nouns_with(*traits: str) -> list[str]:
    return [noun for noun, its_traits in NOUNS.items() if set(traits) & set(its_traits.split())]


_ACTORS = _nouns_with("male", "female", "single")
_PLACES = _nouns_with("city", "country")


def _analogies() -> tuple[tuple[str, str, str, str], ...]:
    changes = {}  # (a, b): the trait that a loses and the one it gains on its way to b
    for a, b in permutations(NOUNS, 2):
        before, after = set(NOUNS[a].split()), set(NOUNS[b].split())
        if len(before - after) == 1:
            changes[a, b] = before - after, after - before
    return tuple(
        first + second
        for first, second in permutations(changes, 2)
        if changes[first] == changes[second] and len({*first, *second}) == 4
    )


ANALOGIES = _analogies()
"""All (a, b, c, d) where a is to b as c is to d: both pairs change the same one trait.

>>> ("man", "king", "woman", "queen") in ANALOGIES, ANALOGIES[0]
(True, ('man', 'woman', 'king', 'queen'))
"""

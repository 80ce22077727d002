"""A text of which one part, between two markers, is written by `course build`."""


def written_between(text: str, begin: str, end: str, part: str) -> str:
    r"""The text with another part between two markers, which are lines and stay.

    Raises:
        ValueError: the markers are not there once each, in this order.

    >>> written_between("Title\n<begin>\nold\n<end>\n", "<begin>\n", "<end>\n", "new\n")
    'Title\n<begin>\nnew\n<end>\n'
    """
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if text.count(begin) != 1 or text.count(end) != 1 or end in before:
        raise ValueError(
            f"needs the line {begin.strip()} once and, after it, the line {end.strip()} once"
        )
    return f"{before}{begin}{part}{end}{after}"

"""What can go wrong while fetching. Each message is one sentence for the person at the keyboard."""


class DataError(Exception):
    """The dataset cannot be had, whatever the source: the disk is full, the folder read-only."""


class Unavailable(DataError):
    """This source does not give the bytes: another one may."""


class Unreachable(Unavailable):
    """Nothing at this URL can be had, so that other ways to read the same URL are no use either."""


class Absent(Unreachable):
    """There is no such file."""


class Damaged(Unavailable):
    """Bytes came, but not the right ones."""


class Transient(DataError):
    """The server or the line failed in a way that often passes: worth another try."""

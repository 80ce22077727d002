"""The place of submitted code: confined worker processes, and how the judge talks to them."""

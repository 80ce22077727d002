"""Where submitted code runs: confined worker processes, and how the judge talks to them."""

"""Grade submissions: the judge of one, and many judges side by side."""

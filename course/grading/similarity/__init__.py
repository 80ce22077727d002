"""What to look at by hand: modules that resemble one another or hold published answers."""

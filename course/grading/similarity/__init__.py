"""Modules to look at by hand: those that resemble one another or hold published answers."""

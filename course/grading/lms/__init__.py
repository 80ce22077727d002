"""Points for a learning management system: its own export, with the points filled in."""

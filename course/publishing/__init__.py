"""What is made of the sources: stubs, notebooks, figures, the instrument and the website."""

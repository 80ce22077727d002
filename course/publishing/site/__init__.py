"""The course as a website that needs no network: `course site build`."""

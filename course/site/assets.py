"""Fetch what browsers draw formulas and diagrams with from npm, once, to be kept in the course.

    python -m course.site.assets

makes `assets.zip` anew, from just these versions, with their licences; the site is built from it
without a network. To take a newer version, change it here with its hash and run this again.

Mermaid is the edition that its makers call tiny: it knows fewer kinds of diagrams and is half as
large. KaTeX's fonts are kept in the one format that every browser of today reads.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ASSETS = Path(__file__).with_name("assets.zip")

_OLDER_FONTS = re.compile(r',url\([^)]+\) format\("(woff|truetype)"\)')


PACKAGES = {
    "katex": (
        "katex@0.19.1",
        "jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA==",
        re.compile(r"LICENSE|dist/katex\.min\.(js|css)|dist/fonts/.*\.woff2"),
    ),
    "mermaid": (
        "@mermaid-js/tiny@11.17.2",
        "PmFr1c5cSfNf5AngLLR98DrbvR4U5KeD7I+hQkGqG5w5Veu3QT4dG0qu9f99cpn/sKj2XxRBK0q7EL6hr9NY/A==",
        re.compile(r"LICENSE|dist/mermaid\.tiny\.js"),
    ),
}
"""Folder in `assets.zip` -> version on npm, SHA-512 of its archive in base64, files to keep."""


def main() -> None:
    """Write `assets.zip`."""
    with zipfile.ZipFile(ASSETS, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for folder, package in PACKAGES.items():
            for name, data in sorted(kept_of(*package).items()):
                # the same date always, so that the same contents make the same file
                file.writestr(zipfile.ZipInfo(f"{folder}/{name}"), data, file.compression)
    print(f"{ASSETS.name}: {ASSETS.stat().st_size:,} bytes")


def kept_of(wanted: str, sha512: str, keep: re.Pattern) -> dict[str, bytes]:
    """Fetch a package; return the files of it that are kept, by their names without `dist/`.

    Raises:
        ValueError: npm's archive is not the one whose hash stands here.
    """
    with tempfile.TemporaryDirectory() as folder:
        # npm is a script on Windows, which only its shell finds
        shell = sys.platform == "win32"
        command = ["npm", "pack", "--silent", "--pack-destination", folder, wanted]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, shell=shell)
        (archive,) = Path(folder).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != sha512:
            raise ValueError(f"{wanted} has the hash {found}, not the one that is expected")
        kept = {}
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                name = member.name.removeprefix("package/")
                if keep.fullmatch(name):
                    kept[name.removeprefix("dist/")] = tar.extractfile(member).read()
    if style := kept.get("katex.min.css"):  # without its mention of fonts that are not kept
        kept["katex.min.css"] = _OLDER_FONTS.sub("", style.decode("utf-8")).encode("utf-8")
    return kept


if __name__ == "__main__":
    main()

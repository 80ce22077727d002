"""The site in a real browser, from its files: every page, light and dark, wide and narrow.

They need the extras `browser` and `site` (`pip install -e ".[browser,site]"`) and a Chromium, and
run with `-m browser`. What accessibility is measured with, axe-core, npm fetches.
"""

import copy
import io
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit
from urllib.request import url2pathname

import nbformat
import pytest
from PIL import Image
from ran_notebooks import complaints, points_earned, showing

from course.core.syllabus import lessons
from course.publishing.building.notebooks import stems
from course.publishing.figures.picture import PIXELS_PER_INCH
from course.publishing.figures.words import SMALL

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
THEMES = ("light", "dark")
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
LOOKS = (("light", "phone"), ("dark", "desktop"))
"""Every theme and every size, each page in two."""

SMALLEST = 9
"""Pixels of the page for the smallest text of a figure, on a phone too."""

FEW_STEPS = """import dataclasses
from course.experiments import training
training.QUICK = dataclasses.replace(training.QUICK, steps=5)
"""

PATIENCE = 300
"""Seconds for whatever should happen at all; to wait so long is to fail."""

FACTS = """async () => {
    for (const details of document.querySelectorAll("article details")) details.open = true;
    const late = [...document.images].filter(one => one.loading === "lazy");
    for (const one of late) one.loading = "eager";
    await Promise.allSettled([...document.images].map(one => one.decode()));
    return {
        title: document.title,
        headings: document.querySelectorAll("h1").length,
        unnamed: [...document.querySelectorAll("header, aside, nav, footer, form")]
            .filter(one => !one.closest("article") && !one.ariaLabel && !one.role)
            .map(one => one.outerHTML.slice(0, 80)),
        width: document.documentElement.scrollWidth,
        awaited: [...document.head.querySelectorAll("script[src]")]
            .filter(one => !one.async).map(one => one.outerHTML),
        cut: [...document.querySelectorAll("article pre")]
            .filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent),
        formulas: document.querySelectorAll("math").length,
        notDrawn: [...document.querySelectorAll("math")]
            .filter(one => !one.getBoundingClientRect().width || one.querySelector("merror"))
            .map(one => one.textContent),
        images: [...document.images].map(one => ({
            alt: one.alt, drawn: one.complete && one.naturalWidth > 0, source: one.src.slice(0, 80),
            scale: one.getBoundingClientRect().width / one.getAttribute("width"),
            isLate: late.includes(one), high: one.getAttribute("height") ?? 0,
        })),
        links: [...document.links].map(link => link.href),
        names: [...document.querySelectorAll("[id]")].map(one => one.id),
    };
}"""


@dataclass
class Visit:
    """A page that was opened, and what was seen there."""

    page: str
    theme: str
    size: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def saw(self, what: str, told: Any) -> None:
        if what == "request":
            self.asked.append(told.url)
        elif what == "pageerror" or told.type in ("error", "warning"):
            self.complaints.append(str(told))


@pytest.fixture(scope="module")
def ran():
    """The notebooks, by their stems, as they came out of the one run that the site is built of."""
    return {}


@pytest.fixture(scope="module")
def site(tmp_path_factory, ran):
    """The site, rebuilt, with notebooks whose models train for a few steps."""
    pytest.importorskip("sphinx", reason='the extra `site` is not there: pip install -e ".[site]"')
    from course.publishing.site import build, executed

    def run_shortly(stem, text, run=executed.run_notebook):
        notebook = nbformat.reads(text, as_version=4)
        sources = [cell.source for cell in notebook.cells]
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        first.source = FEW_STEPS + first.source
        for cell in notebook.cells:
            cell.source = cell.source.replace("epochs=10", "epochs=2")
        done = run(stem, nbformat.writes(notebook))
        for cell, source in zip(done.cells, sources, strict=True):
            cell.source = source
        ran[stem] = copy.deepcopy(done)  # the site leaves sliders out
        return done

    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executed, "run_notebook", run_shortly)
        assert build.build_site(folder / "site", folder / "kept") == "", "Sphinx warns"
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site):
    """All pages, by their names."""
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe-core, as npm has it."""
    folder = tmp_path_factory.mktemp("axe")
    if not shutil.which("npm"):
        pytest.skip("accessibility is not measured: there is no npm to fetch axe-core")
    command = ["npm", "pack", "--silent", AXE]
    try:
        fetched = subprocess.run(
            command, cwd=folder, timeout=PATIENCE, capture_output=True, text=True, check=True
        )
    except subprocess.SubprocessError as error:
        pytest.skip(f"accessibility is not measured: npm cannot fetch {AXE}: {error}")
    shutil.unpack_archive(folder / fetched.stdout.strip(), folder)
    return folder / "package" / "axe.min.js"


def window(chromium, theme="light", size="desktop", **options):
    width, height = SIZES[size]
    page = chromium.new_page(
        color_scheme=theme, viewport={"width": width, "height": height}, **options
    )
    page.set_default_timeout(1000 * PATIENCE)
    return page


@pytest.fixture
def opened(site, chromium):
    """`opened(name, theme)`: a page of the site in its own window."""
    windows = []

    def open_page(name, theme="light"):
        windows.append(window(chromium, theme))
        windows[-1].goto(f"{site.as_uri()}/{name}")
        return windows[-1]

    yield open_page
    for one in windows:
        one.close()


@pytest.fixture(scope="module")
def visits(site, pages, chromium):
    """Every page, visited in each theme and in each size."""
    seen = []
    for theme, size in LOOKS:
        page = window(chromium, theme, size)
        for what in ("request", "pageerror", "console"):
            page.on(what, lambda told, what=what: seen[-1].saw(what, told))
        for name in pages:
            seen.append(Visit(name, theme, size))
            page.goto((site / name).as_uri())
            seen[-1].facts = page.evaluate(FACTS)
        page.close()
    return seen


def test_all_of_the_course_is_there_and_small(site, pages, visits):
    wanted = {f"course/lessons/{lesson.stem}/README.html" for lesson in lessons()}
    wanted |= {f"exercises/{lesson.stem}.html" for lesson in lessons()}
    wanted |= {f"notebooks/{stem}.html" for stem in stems()}
    assert wanted | {"index.html", "course/instructors.html", "search.html"} < set(pages)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB")
    assert size < 1.2e6 * len(lessons())
    limits = {f"course/lessons/{lesson.stem}/README.html": 530_000 for lesson in lessons()}
    limits |= {f"notebooks/{stem}.html": 700_000 for stem in stems()}
    sizes = {one.page: _with_all_it_loads(site, one) for one in visits if one.page in limits}
    assert {page: size for page, size in sizes.items() if size > limits[page]} == {}
    assert sum(visit.facts["formulas"] for visit in visits) > 100
    assert sum(len(visit.facts["images"]) for visit in visits) > 50
    assert any("site.js" in url for visit in visits for url in visit.asked)


def _with_all_it_loads(site: Path, visit: Visit) -> int:
    """Return the bytes of a page, of its figures, and of whatever else it asked for."""
    page = site / visit.page
    text = page.read_text(encoding="utf-8")
    figures = {page.parent / unquote(one) for one in re.findall(r'src="([^":]+\.svg)"', text)}
    asked = {Path(url2pathname(urlsplit(url).path)) for url in visit.asked if url[:5] == "file:"}
    return sum(path.stat().st_size for path in {path.resolve() for path in figures | asked})


@pytest.mark.parametrize("stem", stems())
def test_a_notebook_runs_without_a_warning_and_the_reference_earns_all_points(site, ran, stem):
    assert complaints(ran[stem]) == []
    assert showing(ran[stem], "text/html", "<img") >= 2
    assert showing(ran[stem], "application/vnd.jupyter.widget-view+json") >= 1
    graded = [
        one for lesson in lessons() if lesson.notebook.stem == stem for one in lesson.exercises
    ]
    assert points_earned(ran[stem]) == {one.name: one.points for one in graded}


def asked_elsewhere(visit):
    return [url for url in visit.asked if urlsplit(url).scheme not in ("file", "data", "blob")]


FAULTS = {
    "what is fetched from another machine": asked_elsewhere,
    "an error or a warning": lambda visit: visit.complaints,
    "a script that is awaited before it is drawn": lambda visit: visit.facts["awaited"],
    "a formula that is not drawn": lambda visit: visit.facts["notDrawn"],
    "a landmark without a name": lambda visit: visit.facts["unnamed"],
    "no heading, or more than one first": lambda visit: visit.facts["headings"] != 1,
    "more than the window's width": lambda visit: visit.facts["width"] > SIZES[visit.size][0],
    "a cut line of code on a desktop": lambda v: v.facts["cut"] if v.size == "desktop" else [],
    "an image that is not drawn or described": lambda visit: [
        one for one in visit.facts["images"] if len(one["alt"]) < 20 or not one["drawn"]
    ],
}
"""What no page has -> what of it there is on a page."""


@pytest.mark.parametrize("fault", FAULTS)
def test_no_page_has(visits, fault):
    found = [(visit.page, visit.theme, FAULTS[fault](visit)) for visit in visits]
    assert [one for one in found if one[-1]] == []


def test_figures_can_be_read_on_a_phone_and_keep_room_and_the_first_comes_at_once(visits):
    smallest = SMALL * PIXELS_PER_INCH / 72  # as wide as the figure says it is
    shown = [
        (visit.page, image["scale"] * smallest)
        for visit in visits
        for image in visit.facts["images"]
        if visit.page.startswith("notebooks/")
    ]
    assert len(shown) > 20
    assert [(page, size) for page, size in shown if size < SMALLEST] == []
    for visit in visits:
        if re.match(r"course/lessons/\w+/", visit.page) and visit.facts["images"]:
            first, *others = visit.facts["images"]
            assert not first["isLate"], visit.page
            assert [one for one in others if not int(one["high"])] == [], visit.page
    assert sum(one["isLate"] for visit in visits for one in visit.facts["images"]) > 50


def test_no_link_is_broken_and_others_go_out_by_https(site, visits):
    names = {site / visit.page: set(visit.facts["names"]) for visit in visits}
    broken = set()
    for visit in visits:
        for link in visit.facts["links"]:
            address, place = urldefrag(link)
            if urlsplit(address).scheme == "https":
                continue
            path = Path(url2pathname(urlsplit(address).path))
            is_here = urlsplit(address).scheme == "file" and path.is_file()
            if not is_here or (place and unquote(place) not in names.get(path, ())):
                broken.add((visit.page, link))
    assert broken == set()


FOUND = """() => document.querySelector(".search-summary")?.textContent.includes("finished") &&
    [...document.querySelectorAll("ul.search li")]
        .every(one => one.querySelector(":scope > span, .context"))"""
"""Each page is found with what it says about the words, or a name with what it is."""


def found_by(page):
    """What the search found: links, and the texts below them, best first."""
    page.wait_for_function(FOUND)
    found = page.locator("ul.search li").evaluate_all(
        "all => all.map(one => [one.querySelector('a').getAttribute('href'), one.textContent])"
    )
    return [link for link, _ in found], [text for _, text in found]


def test_the_search_is_reached_by_keys_and_finds_each_lesson_first_and_quotes_it(site, opened):
    page = opened("index.html")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("rotate_half")
    page.keyboard.press("Enter")
    links, texts = found_by(page)
    assert "course/lessons/rope/README.html" in links
    assert "exercises/rope.html#exercises.rope.rotate_half" in links
    assert any("rotate_half" in text for text in texts)
    for lesson in lessons():
        page.goto(f"{site.as_uri()}/search.html?q={lesson.stem}")
        links, texts = found_by(page)
        assert links[0] == f"course/lessons/{lesson.stem}/README.html"
        assert lesson.stem in texts[0]


def test_a_word_that_is_searched_for_is_shown_and_the_next_page_is_reached_by_keys(opened):
    page = opened("search.html?q=wavelength")
    links, _ = found_by(page)
    page.locator(f'ul.search a[href="{links[0]}"]').first.click()
    page.locator("article .highlighted").first.wait_for()
    page.wait_for_function("""() => {
        const hit = document.querySelector("article .highlighted");
        const { top, bottom } = hit.getBoundingClientRect();
        return hit.checkVisibility() && top > 0 && bottom < innerHeight;
    }""")
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.next-page')"):
            break
    else:
        pytest.fail("400 presses of Tab do not reach the link to the next page")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"exercises/\w+\.html"))


def test_everything_is_read_without_a_script(site, chromium):
    page = window(chromium, java_script_enabled=False)
    page.goto((site / "course/lessons/rope/README.html").as_uri())
    assert page.locator("article math:visible").first.bounding_box()["width"] > 5
    page.goto((site / "notebooks/5_rope.html").as_uri())
    figure = page.locator("article details img").first
    assert not figure.is_visible()
    page.locator("article details summary").first.click()
    assert figure.bounding_box()["width"] > 500
    page.close()


@pytest.mark.parametrize("theme", THEMES)
def test_a_figure_turns_with_the_theme_and_is_light_on_paper(opened, theme):
    page = opened("course/lessons/lookup/README.html", theme)
    figure = page.locator("article img[loading]").first
    figure.evaluate("one => { one.loading = 'eager'; return one.decode(); }")

    def ground():
        with Image.open(io.BytesIO(figure.screenshot())) as image:
            return image.convert("L").getpixel((9, 9))

    seen = {}
    for _ in range(3):  # the button goes through automatic, light and dark
        seen[page.evaluate("document.body.dataset.theme")] = ground()
        page.locator(".content-icon-container .theme-toggle").click()
    assert seen["light"] > 250 and seen["dark"] < 60
    assert seen["auto"] == seen[theme]
    page.emulate_media(media="print")
    assert ground() > 250


def test_on_paper_all_is_unfolded_and_only_the_text_remains(opened):
    page = opened("notebooks/5_rope.html", "dark")
    folded = page.locator("article details:not([open]) > :not(summary)")
    assert folded.count() > 10
    assert not any(one.is_visible() for one in folded.all())
    page.emulate_media(media="print")
    assert all(one.is_visible() for one in folded.all())
    for name in (".sidebar-drawer", ".toc-drawer", ".skip-to-content", ".theme-toggle >> nth=0"):
        assert not page.locator(name).is_visible(), name
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    assert page.locator("article pre").evaluate_all(wide) == []
    assert len(page.pdf()) > 50_000


ONE_OF_EACH_KIND = [
    *("index.html", "search.html", "course/instructors.html", "course/lessons/README.html"),
    *("course/lessons/lookup/README.html", "exercises/rope.html", "helpers/figures.html"),
    *(f"course/lessons/{name}/README.html" for name in ("permutation", "sinusoidal", "rope")),
    *("notebooks/1_lookup.html", "notebooks/positions_lab.html"),
]


@pytest.mark.parametrize(
    ("theme", "names", "rules"),
    [("light", None, {}), ("dark", ONE_OF_EACH_KIND, {"runOnly": ["color-contrast"]})],
)
def test_nothing_stands_in_anybodys_way(site, pages, opened, axe, theme, names, rules):
    script, found = axe.read_text(encoding="utf-8"), []
    page = opened("index.html", theme)
    options = rules | {"resultTypes": ["violations"]}  # of the others only that there are some
    for name in names or pages:
        page.goto((site / name).as_uri())
        page.evaluate(script)
        result = page.evaluate("options => axe.run(document, options)", options)
        assert result["passes"], name
        found += [
            (name, violation["id"], violation["nodes"][0]["html"][:200])
            for violation in result["violations"]
        ]
    assert found == []

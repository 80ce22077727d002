"""The styles of a page, inside it: a browser draws it as soon as it arrives.

A theme's style sheets are for every page that anybody could make with it; a page gets their rules
for the classes that occur in it or in a script, and the values that those rules ask for.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tinycss2

_LINKS = re.compile(r'\s*<link rel="stylesheet" [^>]*href="([^"?]*)[^>]*>')
_CLASSES = re.compile(r'\b(?:class|id)="([^"]*)"')
_STRING = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
_VALUE = re.compile(rf"""(--[\w-]+):(?:{_STRING}|[^;{{}}'"])*(?:;|(?=}}))""")


def with_styles(page: str, folder: Path, in_scripts: set[str]) -> str:
    """Return a page with its style sheets' rules instead of links to them.

    Args:
        folder: where the page is.
        in_scripts: words of the scripts, some of which are classes.
    """
    classes = in_scripts.union(*(found.split() for found in _CLASSES.findall(page)))
    sheets = [_rules((folder / link).resolve()) for link in _LINKS.findall(page)]
    styles = "\n".join(_of_classes(sheet, classes) for sheet in sheets)
    page = _LINKS.sub("", page)
    asked = set(re.findall(r"var\(\s*(--[\w-]+)", styles + page))
    styles = _VALUE.sub(lambda value: value[0] if value[1] in asked else "", styles)
    return page.replace("</title>", f"</title>\n<style>\n{styles}\n</style>", 1)


@cache
def _rules(path: Path) -> list:
    return _parsed(path.read_text(encoding="utf-8"))


def _parsed(block: object) -> list:
    return tinycss2.parse_rule_list(block, skip_comments=True, skip_whitespace=True)


def _of_classes(rules: list, classes: set[str]) -> str:
    return "\n".join(filter(None, (_of_rule(rule, classes) for rule in rules)))


def _of_rule(rule, classes: set[str]) -> str:
    if rule.type == "qualified-rule":
        kept = [one for one in _selectors(rule.prelude) if _names(one) <= classes]
        selectors = ",".join(tinycss2.serialize(one).strip() for one in kept)
        return f"{selectors}{{{tinycss2.serialize(rule.content).strip()}}}" if kept else ""
    if rule.lower_at_keyword == "media":
        inner = _of_classes(_parsed(rule.content), classes)
        return f"@media{tinycss2.serialize(rule.prelude)}{{{inner}}}" if inner else ""
    return rule.serialize()


def _selectors(prelude: list) -> Iterator[list]:
    """Yield what is between a rule's commas."""
    one: list = []
    for token in prelude:
        if token == ",":
            yield one
            one = []
        else:
            one.append(token)
    yield one


def _names(selector: list) -> set[str]:
    """Return the classes and ids that an element needs, leaving out `:not(...)` and the like."""
    after = zip([None, *selector], selector, strict=False)
    classes = {token.value for before, token in after if token.type == "ident" and before == "."}
    return classes | {token.value for token in selector if token.type == "hash"}

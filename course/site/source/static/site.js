// Wide elements scroll by themselves; the keyboard has to get there too.
function letKeysScroll() {
  for (const element of document.querySelectorAll("pre, .math, .table-wrapper, .output")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}

addEventListener("load", letKeysScroll);
addEventListener("resize", letKeysScroll);

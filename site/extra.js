// What Material leaves to a pointer alone: its search is a dialog without a name, and keys do not reach
// the wide tables that it wraps once the page is there.

document.querySelector(".md-search")?.setAttribute("aria-label", "Search");

function reachable() {
  for (const wrapped of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wrapped.tabIndex = 0;
  }
}
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
reachable();

// The page of the laboratory begins here: a scenario is chosen or written, run, and shown.

import { KEYS } from "../chart.js";
import { h } from "../dom.js";
import { Bench } from "./bench.js";
import { ModuleEngine, ServerEngine } from "./engine.js";
import { pageOf } from "./link.js";
import { Results } from "./results.js";
import { showTours } from "./tours.js";

/** The scenario that is there at first: its run takes a fraction of a second. */
const FIRST = "scenarios/rate-anomaly.toml";

const textOf = id => document.getElementById(id)?.textContent;

function engine(atOnce) {
  const module = textOf("module");
  // A browser would ask a static server for an icon that it has not.
  if (module) document.head.append(h("link", { rel: "icon", href: "data:," }));
  return module ? new ModuleEngine(module, textOf("worker")) : new ServerEngine(atOnce);
}

async function show(data) {
  const place = document.getElementById("body");
  const maker = engine(data.at_once);
  const results = new Results();
  const bench = new Bench(maker, data, results);
  const tours = h("section", { id: "tours", "aria-label": "Tours" });
  const keys = h("p", { id: "keys", class: "note" }, KEYS);
  const runs = data.runs?.length ? [h("h2", null, "Runs of this directory"), h("ul", null,
    data.runs.map(name => h("li", null, h("a", { href: pageOf(name) }, name))))] : [];
  place.append(bench.element, results.element, ...runs, tours, keys);
  showTours(tours, maker, data, request => bench.open(request));
  addEventListener("hashchange", () => bench.follow(location.hash));
  await bench.choose(FIRST);
  await bench.follow(location.hash);
}

show(JSON.parse(textOf("content"))).then(
  () => document.documentElement.setAttribute("data-ready", ""),
  error => {
    document.getElementById("body").append(h("p", { role: "alert" }, error.message));
    throw error;
  },
);

// The page begins here: it reads what the command put into the file, and shows it by its kind.

import { KEYS } from "./chart.js";
import { showCapture } from "./capture.js";
import { showComparison } from "./comparison.js";
import { h, sheet } from "./dom.js";
import { Table } from "./parquet.js";
import { Pieces } from "./pieces.js";
import { Run, showRun } from "./run.js";
import { showSweep } from "./sweep.js";

/** The tables of a run. */
function tablesOf(run) {
  const read = ([name, number]) => [name, new Table(new Pieces(number))];
  return Object.fromEntries(Object.entries(run.tables).map(read));
}

async function show(content) {
  const place = document.getElementById("body");
  const graphs = h("div");
  place.append(graphs);
  const { kind } = content;
  if (kind === "run") {
    const [run] = content.runs;
    await showRun(graphs, new Run(tablesOf(run), 0, run.seconds));
  } else if (kind === "sweep") await showSweep(graphs, content, tablesOf);
  else if (kind === "capture") await showCapture(graphs, content.runs[0], tablesOf);
  else showComparison(graphs, content);
  for (const { title, heads, rows, note } of content.sheets) {
    place.append(h("section", null, sheet(title, heads, rows, note)));
  }
  if (kind !== "comparison") {
    place.append(h("p", { id: "keys", class: "note" }, KEYS));
  }
}

const content = JSON.parse(document.getElementById("content").textContent);
show(content).then(
  () => document.documentElement.setAttribute("data-ready", ""),
  error => {
    const text = `Not shown: ${error.message}`;
    document.getElementById("body").append(h("p", { role: "alert" }, text));
    throw error;
  },
);

// A capture: what each connection sent over time, and close-ups of the worst connections.

import { h } from "./dom.js";
import { Run, showRun } from "./run.js";
import { pick, rowsByName, Series } from "./thin.js";

/** Marks of points that are a segment or an ACK in a sequence graph; the others have their own. */
const APART = ["rtt", "sack", "dsack"];

/** The tables of a capture on an axis that begins with its first packet. Rows of intervals are in
 * the order in which these end, so the first row may be a late one. */
export function runOf(content, tables) {
  const run = new Run(tables, 0, content.seconds, BigInt(content.start_unix_ns));
  run.interval = content.interval_s;
  return run;
}

/** Fills `place` with the graphs of a capture. */
export async function showCapture(place, content, tablesOf) {
  const tables = tablesOf(content);
  const run = runOf(content, tables);
  const body = h("div");
  await showRun(body, run);
  place.replaceChildren(body);
  if (!tables.points?.rows) return;
  const graphs = h("section", { class: "graphs" });
  place.append(h("h2", null, "The worst connections closely"), graphs);
  graphs.append(...await closely(run, tables.points));
}

async function closely(run, points) {
  const times = await points.numbers("at_unix_ns", run.base);
  const streams = await points.numbers("stream");
  const marks = await points.names("mark");
  const sides = await points.names("side");
  const starts = await points.numbers("start");
  const lengths = await points.numbers("length_ns");
  const mark = row => marks.names[marks.codes[row]];
  const side = row => sides.names[sides.codes[row]];
  const name = {
    rtt: row => (mark(row) === "rtt" ? `data of ${side(row)}` : null),
    start: row => (APART.includes(mark(row)) || Number.isNaN(starts[row])
      ? null : `${side(row)}: ${mark(row).replaceAll("_", " ")}`),
  };
  const found = [];
  for (const stream of new Set(streams)) {
    const of = (values, factor, nameOf) => {
      const groups = rowsByName(named(streams.length, row =>
        (streams[row] === stream ? nameOf(row) : null)));
      return groups.map(({ name: text, rows }) => {
        const sorted = rows.sort((a, b) => times[a] - times[b]);
        return new Series(text, pick(times, sorted, 1e-9), pick(values, sorted, factor));
      });
    };
    const chart = (title, unit, series) => series.length
      && run.chart({ title: `Connection ${stream}: ${title}`, unit, series, isDots: true });
    found.push(chart("round-trip times", "ms", of(lengths, 1e-6, name.rtt)),
      chart("sequence numbers", "kB", of(starts, 1e-3, name.start)));
  }
  return found.filter(Boolean);
}

/** Names of rows, some of them null, as distinct names and their numbers. */
function named(count, nameOf) {
  const names = [null];
  const codes = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const text = nameOf(row);
    const known = names.indexOf(text);
    codes[row] = known < 0 ? names.push(text) - 1 : known;
  }
  return { names, codes };
}

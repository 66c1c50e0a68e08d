// A report begins here: each drawing with data becomes a graph that can be explored. The drawing
// stays for print.

import { Chart, KEYS } from "../chart.js";
import { h } from "../dom.js";
import { unitIn } from "../format.js";
import { Range } from "../range.js";
import { seriesOf } from "./series.js";

const HEIGHT = 340;

/** The least and the greatest horizontal value of a figure. */
function bounds({ span, groups }, series) {
  if (span) return span;
  if (groups) return [-0.5, groups.length - 0.5];
  const ends = series.flatMap(one => one.ends());
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (ends.length === 0) return [0, 1];
  // Points on the edge of a graph would be cut.
  const room = (high - low || 1) * 0.02;
  return [low - room, high + room];
}

function show(figures) {
  const shared = new Map();
  const made = figures.map(([id, axis, figure]) => {
    const series = figure.series.map(one => seriesOf(one, figure));
    return { id, axis, figure, series, own: bounds(figure, series) };
  });
  for (const { axis, own } of made) {
    const [low, high] = shared.get(axis) ?? own;
    shared.set(axis, [Math.min(low, own[0]), Math.max(high, own[1])]);
  }
  const ranges = new Map([...shared].map(([axis, of]) => [axis, new Range(...of)]));
  for (const { id, axis, figure, series, own } of made) {
    const plot = document.getElementById(id)?.closest(".plot");
    if (!plot) continue;
    const { title, x, y, range, groups } = figure;
    const chart = new Chart({ title, series, groups, bounds: range, height: HEIGHT,
      labels: { x, y }, xUnit: unitIn(x), isTime: axis !== "", sync: axis,
      range: axis === "" ? new Range(...own) : ranges.get(axis) });
    plot.before(chart.element);
    plot.classList.add("explored");
  }
  document.querySelector("main").append(h("p", { id: "keys", class: "note" }, KEYS));
  document.documentElement.setAttribute("data-ready", "");
}

show(JSON.parse(document.getElementById("figures").textContent));

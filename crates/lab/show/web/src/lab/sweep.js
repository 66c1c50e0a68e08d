// The card of a sweep: its answer, all points in a table, and a figure of the reader's choice.

import { h, sheet } from "../dom.js";
import { number } from "../format.js";
import { axesOf, interval, valuesOf } from "../means.js";
import { Means } from "../sweep.js";
import { firstOf, saveName } from "./command.js";
import { save } from "./save.js";

/** Figures to begin with. */
const USUAL = ["each flow: goodput (Mbps)", "goodput (Mbps)"];

/** The results of a sweep, which change while its runs are made. */
export class SweepCard {
  /** `plan` has the points; `remove` takes the card away. */
  constructor({ file, settings }, plan, seeds, remove) {
    const { points, seeds: written, sweep } = plan;
    const title = points.length > 1 ? "All points" : "All seeds";
    const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
    const [{ seed }] = points;
    const range = seeds > 1 ? `seeds ${seed} to ${seed + seeds - 1}` : `seed ${seed}`;
    const facts = [file, ...settings, count(points.length, "point"), range];
    const own = seeds === written ? sweep : `${sweep} --set sweep.seeds=${seeds}`;
    const name = saveName(file).replace(/\.toml$/, "");
    this.answer = h("div");
    this.table = h("div");
    this.means = new Means(USUAL);
    this.csv = h("button", { type: "button", disabled: true, click: () =>
      save(`${name}.csv`, this.text) }, "Save all figures as CSV");
    const away = h("button", { type: "button", click: () => {
      this.close();
      remove();
    } }, "Remove this sweep");
    this.element = h("article", { class: "card sweep", "aria-label": title },
      h("h2", null, title), this.answer, h("p", { class: "facts" }, facts.join(" · ")),
      h("div", { class: "choices" }, this.csv, away), this.table, this.means.element,
      h("p", null, `The same sweep by the command${firstOf(plan)}: `,
        h("code", { tabindex: 0, "aria-label": "The same sweep by the command" }, own)));
  }

  /** Shows means, those of all runs or those so far. */
  show({ points, answer, csv }, isLast) {
    // A reader who is in the figure keeps it until the last run is there.
    if (!isLast && this.means.body.contains(document.activeElement)) return;
    this.text = csv;
    this.csv.disabled = false;
    this.answer.replaceChildren(...answer.map(text => h("p", null, text)));
    this.table.replaceChildren(overview(points));
    this.means.show(points);
  }

  close() {
    this.means.chart?.close();
  }
}

/** Goodput and fairness at each point, with a bar for the goodput of all flows together. */
function overview(points) {
  const most = Math.max(...points.map(({ metrics }) => metrics.goodput_mbps?.mean ?? 0), 1e-9);
  const cells = points.map(point => {
    const { goodput_mbps: goodput, jain, starved_flows: starved } = point.metrics;
    const width = 100 * (goodput?.mean ?? 0) / most;
    return [valuesOf(point),
      h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: `width:${width}%` })),
      goodput ? interval(goodput) : "–", jain ? interval(jain) : "–",
      starved ? number(starved.mean) : "–", String(goodput?.n ?? 0)];
  });
  const heads = [axesOf(points), "share of the largest", "all flows, Mbps", "Jain's index",
    "starved flows", "runs"];
  return sheet("Goodput and fairness at each point, means over seeds with 95 % intervals", heads,
    cells);
}

// Finished runs, one or several side by side.

import { h, sheet } from "../dom.js";
import { Table } from "../parquet.js";
import { Range } from "../range.js";
import { Run, showRun } from "../run.js";
import { save } from "./save.js";

/** The most runs that lie side by side. */
const MOST = 4;

/** The tables of a run by their names. */
export function tablesOf(answer, files) {
  const bytes = new Map(files.map(({ name, bytes: of }) => [name, of]));
  const entries = Object.entries(answer.page.content.runs[0].tables);
  return Object.fromEntries(entries.map(([name, number]) =>
    [name, new Table(bytes.get(answer.tables[number]))]));
}

/** The place of the results. */
export class Results {
  constructor() {
    this.cards = [];
    this.made = 0;
    this.compared = h("div");
    this.sweep = h("div");
    this.place = h("div", { class: "side" });
    this.element = h("section", { "aria-label": "Results" }, this.sweep,
      this.compared, this.place);
  }

  /** Shows the card of a sweep instead of an earlier one. */
  showSweep(card) {
    this.card?.close();
    this.card = card;
    this.sweep.replaceChildren(card.element);
    card.element.scrollIntoView({ block: "nearest" });
  }

  removeSweep() {
    this.card = null;
    this.sweep.replaceChildren();
  }

  clear() {
    for (const card of [...this.cards]) this.remove(card);
  }

  remove(card) {
    card.run.close();
    card.element.remove();
    this.cards.splice(this.cards.indexOf(card), 1);
    this.compare();
  }

  /** Shows a run after those that are there. */
  async add(answer, files, request) {
    if (this.cards.length === MOST) this.remove(this.cards[0]);
    const { page } = answer;
    const { seconds } = page.content.runs[0];
    const run = new Run(tablesOf(answer, files), 0, seconds);
    // Runs of the same length share their time axis.
    run.range = this.cards.find(card => card.seconds === seconds)?.run.range
      ?? new Range(0, seconds);
    const name = `Run ${++this.made}`;
    const graphs = h("div");
    const card = { name, run, seconds, page };
    const close = h("button", { type: "button", click: () => this.remove(card) },
      `Remove ${name.toLowerCase()}`);
    const point = request.settings.join(", ");
    card.element = h("article", { class: "card", "aria-label": name },
      h("h2", null, `${name}: ${page.heading}`), page.answer.map(text => h("p", null, text)),
      h("p", { class: "facts" }, [request.file, point, ...page.facts].filter(Boolean).join(" · ")),
      h("div", { class: "choices" }, close, downloads(files)), graphs,
      page.content.sheets.map(({ title, heads, rows, note }) => sheet(title, heads, rows, note)));
    this.cards.push(card);
    this.place.append(card.element);
    this.compare();
    card.element.scrollIntoView({ block: "nearest" });
    await showRun(graphs, run);
    card.element.setAttribute("data-drawn", "");
  }

  /** The goodput of each flow in all runs. */
  compare() {
    this.compared.replaceChildren();
    if (this.cards.length < 2) return;
    const columns = this.cards.map(({ page }) =>
      new Map(page.content.sheets[0].rows.map(([flow, mbps]) => [flow, mbps])));
    const flows = new Set(columns.flatMap(column => [...column.keys()]));
    const rows = [...flows].map(flow => [flow, ...columns.map(of => of.get(flow) ?? "–")]);
    const heads = ["flow", ...this.cards.map(({ name }) => `${name}, Mbps`)];
    this.compared.append(h("h2", null, "Side by side"), sheet("Goodput", heads, rows));
  }
}

function downloads(files) {
  const one = ({ name, bytes }) => h("li", null, h("button", { type: "button",
    click: () => save(name, bytes) }, name), ` ${Math.ceil(bytes.length / 1000)} kB`);
  return h("details", null, h("summary", null, "Files of the run"),
    h("ul", { class: "files" }, files.map(one)));
}

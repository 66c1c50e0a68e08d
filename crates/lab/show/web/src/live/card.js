// One tool: its figures as text, and its graphs.

import { Chart, Hidden } from "../chart.js";
import { h, sheet } from "../dom.js";
import { number, unitOf } from "../format.js";
import { Range } from "../range.js";
import { History, lists, nameOf, NAMES, scalars, timeOf } from "./history.js";
import { GRAPHS, kindOf } from "./tools.js";

/** Rows of a table that are shown. */
const MOST_ROWS = 100;

/** Columns that are shares. */
const SHARES = new Set(["loss", "loss_event_rate", "share", "due"]);

/** A column's name in words, with the factor and the unit in which it is shown. */
function unit(column) {
  const of = unitOf(column);
  return SHARES.has(column) ? { ...of, factor: 100, unit: "%" } : of;
}

function head(column) {
  const { words, unit: of } = unit(column);
  return of ? `${words || column} (${of})` : words;
}

/** A value as people read it. */
function shown(column, value) {
  const { factor } = unit(column);
  // A counter is shown with all its digits.
  if (Number.isInteger(value) && factor === 1) return value.toLocaleString("en");
  if (typeof value === "number") return number(value * factor);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(one => shown(column, one)).join(", ") || "–";
  return value === null || typeof value === "object" ? "–" : value;
}

/** A row with the figures of objects in it beside its own. */
function flat(row) {
  const lists = Object.entries(row).filter(([, value]) => Array.isArray(value));
  return Object.fromEntries([...scalars(row), ...lists]);
}

/** The figures of some row that are known, without names. */
function columnsOf(rows) {
  const keys = new Set(rows.flatMap(row => Object.keys(row)));
  const isKnown = key => rows.some(row => (row[key] ?? null) !== null);
  return [...keys].filter(key => !NAMES.includes(key) && isKnown(key));
}

/** A list's name as the caption of its table. */
function caption(list) {
  const { words } = unitOf(list);
  return words[0].toUpperCase() + words.slice(1);
}

/** A table whose cells change in place, so that a reader keeps the focus and the place. */
class Live {
  constructor(caption) {
    this.caption = caption;
    this.element = h("div");
  }

  show(heads, rows) {
    const form = JSON.stringify([heads, rows.map(([name]) => name)]);
    if (form !== this.form) {
      this.form = form;
      this.element.replaceChildren(sheet(this.caption, heads, rows));
      return;
    }
    const cells = this.element.querySelectorAll("td");
    rows.flatMap(([, ...texts]) => texts).forEach((text, i) => {
      if (cells[i].textContent !== text) cells[i].textContent = text;
    });
  }
}

/** A graph that grows. It is made anew where a series is added or removed. */
class Graph {
  constructor(graph, range, hidden) {
    Object.assign(this, { graph, range, hidden, history: new History(graph) });
    this.element = h("div");
  }

  restart() {
    this.history = new History(this.graph);
    this.names = null;
  }

  add(figures, at) {
    this.history.add(figures, at);
    const { history, graph: { title, unit } } = this;
    if (!history.hasValues) {
      this.clear();
      return;
    }
    const names = [...history.series.keys()].join("\n") + history.left;
    if (names === this.names) {
      this.chart.redraw();
      return;
    }
    this.names = names;
    this.chart?.close();
    const note = history.left ? `${history.left} more are in the table alone.` : "";
    this.chart = new Chart({ title, unit, series: [...history.series.values()],
      range: this.range, hidden: this.hidden, note });
    this.element.replaceChildren(this.chart.element);
  }

  /** Removes the chart, of which every series has ended long ago. */
  clear() {
    this.chart?.close();
    [this.chart, this.names] = [null, null];
    this.element.replaceChildren();
  }
}

/** The part of the page about one tool. */
export class Card {
  constructor({ command, name }, remove) {
    this.title = `${command}, ${kindOf(command)} ${name}`;
    this.began = performance.now();
    this.range = new Range(0, 1);
    const hidden = {};
    this.graphs = (GRAPHS[command] ?? []).map(graph =>
      new Graph(graph, this.range, hidden[graph.list ?? graph.title] ??= new Hidden()));
    this.tables = new Map();
    this.state = h("p", { class: "note" });
    this.own = new Live("Figures");
    this.rest = h("div", { class: "tables" }, this.own.element);
    this.remove = h("button", { type: "button", hidden: true, click: remove },
      `Remove ${this.title}`);
    this.id = this.title.replace(/\W+/g, "-");
    this.element = h("article", { class: "card live", "aria-label": this.title, id: this.id },
      h("h2", null, this.title), this.state, this.remove,
      h("div", { class: "graphs" }, this.graphs.map(({ element }) => element)),
      this.rest);
  }

  /** Shows the tool's present figures, or the reason why there are none. */
  show({ figures, refused }) {
    this.hasEnded = false;
    this.remove.hidden = true;
    this.state.textContent = refused ? `No figures: ${refused}.` : "";
    if (!figures) return;
    const at = timeOf(figures) ?? (performance.now() - this.began) / 1e3;
    // A tool that began anew in the same place has other samples.
    if (at < this.at) this.graphs.forEach(graph => graph.restart());
    this.at = at;
    this.graphs.forEach(graph => graph.add(figures, at));
    this.follow();
    this.own.show(["figure", "value"], scalars(figures).map(([key, value]) =>
      [head(key), shown(key, value)]));
    for (const [list, rows] of lists(figures)) this.table(list, rows);
  }

  table(list, rows) {
    if (!this.tables.has(list)) {
      const table = new Live(caption(list));
      this.tables.set(list, table);
      this.own.element.before(table.element);
    }
    const figures = rows.slice(0, MOST_ROWS).map(flat);
    const columns = columnsOf(figures);
    const cells = figures.map((row, i) =>
      [nameOf(row, i), ...columns.map(key => shown(key, row[key]))]);
    const left = rows.length - cells.length;
    const name = left > 0 ? `name (${left} more are left out)` : "name";
    this.tables.get(list).show([name, ...columns.map(head)], cells);
  }

  /** The range of the graphs: all samples that are kept, unless the reader chose a part. */
  follow() {
    const series = this.graphs.flatMap(({ history }) => [...history.series.values()]);
    const ends = series.filter(({ xs }) => xs.length > 0).map(({ xs }) => [xs[0], xs.at(-1)]);
    if (ends.length === 0) return;
    const from = Math.min(...ends.map(([first]) => first));
    const to = Math.max(...ends.map(([, last]) => last), from + 1);
    const { isAll } = this.range;
    this.range.bounds = [from, to];
    this.range.set(...isAll ? [from, to] : [this.range.from, this.range.to]);
  }

  /** Marks a tool that has ended; its last figures stay. */
  end() {
    this.hasEnded = true;
    this.state.textContent = "It has ended: these are its last figures.";
    this.remove.hidden = false;
  }

  close() {
    this.graphs.forEach(({ chart }) => chart?.close());
    this.element.remove();
  }
}

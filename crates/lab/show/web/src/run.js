// One run: graphs over its time, what each queue dropped, who had the air, how long data took.

import { breathe } from "./breathe.js";
import { brush } from "./brush.js";
import { Chart, Hidden } from "./chart.js";
import { choice, frame, h, sheet } from "./dom.js";
import { number, seconds, unitOf } from "./format.js";
import GRAPHS from "./graphs.json" with { type: "json" };
import { Later } from "./later.js";
import { cumulative, growthOver, quantile, sumOver } from "./quantiles.js";
import { Range } from "./range.js";
import { pick, rowsByName, Series, withPauses } from "./thin.js";

/** The columns that name a row, by table, and the base of its times. */
const KEYS = {
  flows: ["flow"], delays: ["flow"], paths: ["flow", "path"], windows: ["flow", "path"],
  queues: ["queue"], stations: ["station"], pairs: ["pair"], soc: ["station"],
  intervals: ["protocol", "stream", "side"],
};

/** The tables of a run, and the range and the hidden series that its graphs share. */
export class Run {
  constructor(tables, from = 0, to = 0, base = 0n) {
    Object.assign(this, { tables, base, hidden: {}, range: new Range(from, to), ends: [] });
  }

  /** Makes a graph over the time of the run, unless another one is given. */
  chart(settings) {
    const chart = new Chart({ range: this.range, ...settings });
    this.atEnd(chart.close);
    return chart.element;
  }

  /** Has functions called when the run is closed. Another run may have taken its place while its
   * tables were decoded: then they are called at once. */
  atEnd(...ends) {
    if (this.isClosed) for (const end of ends) end();
    else this.ends.push(...ends);
  }

  /** Ends its graphs, before another run takes their place. */
  close() {
    this.isClosed = true;
    for (const end of this.ends) end();
  }

  /** Whether a table with this column is there. */
  has(table, column) {
    return Boolean(this.tables[table]?.has(column));
  }

  hiddenOf(table) {
    const key = KEYS[table][0];
    return (this.hidden[key] ??= new Hidden());
  }

  /** The series of a column, one for each name in its table, in the unit that is shown. */
  series(table, column) {
    const make = () => this.made(table, column);
    return this.tables[table].once(`series ${column}`, make);
  }

  async made(table, column) {
    const groups = await this.groups(table);
    const values = await this.tables[table].numbers(column);
    const { factor } = unitOf(column);
    const series = [];
    for (const { name, rows, times } of groups) {
      await breathe();
      const picked = pick(values, rows, factor);
      const points = this.interval ? withPauses(times, picked, this.interval) : [times, picked];
      series.push(new Series(name, ...points));
    }
    return series;
  }

  /** The rows of each name in a table, with their times in seconds. */
  groups(table) {
    const of = this.tables[table];
    return of.once("groups", async () => {
      const times = await of.numbers(of.has("t_ns") ? "t_ns" : "at_unix_ns", this.base);
      const groups = rowsByName(await this.keys(table));
      for (const group of groups) {
        await breathe();
        group.times = pick(times, group.rows, 1e-9);
      }
      return groups;
    });
  }

  /** The names of the rows of a table, of several columns joined by blanks. */
  async keys(table) {
    const of = this.tables[table];
    const parts = [];
    for (const column of KEYS[table]) {
      const isText = of.columns.find(one => one.name === column).isText;
      parts.push(isText ? await of.names(column) : numbered(await of.numbers(column)));
    }
    return parts.reduce(joined);
  }
}

function numbered(values) {
  const names = [null];
  const known = new Map();
  const codes = Uint32Array.from(values, value => {
    if (!known.has(value)) known.set(value, names.push(String(value)) - 1);
    return known.get(value);
  });
  return { names, codes };
}

/** Names of two columns together. */
function joined(a, b) {
  const names = [null];
  const known = new Map();
  const codes = a.codes.map((code, row) => {
    const both = code * b.names.length + b.codes[row];
    const parts = () => [a.names[code], b.names[b.codes[row]]].filter(part => part !== null);
    if (!known.has(both)) known.set(both, names.push(parts().join(" ")) - 1);
    return known.get(both);
  });
  return { names, codes };
}

/** Fills `place` with everything about a run. The place is another run's once this one is closed. */
export async function showRun(place, run) {
  const top = await controls(run);
  if (run.isClosed) return;
  place.replaceChildren(top);
  const graphs = h("div", { class: "graphs" });
  place.append(h("section", null, h("h2", null, "Over time"), graphs));
  for (const [table, column, title] of GRAPHS) {
    if (!run.has(table, column)) continue;
    const made = await graph(run, table, column, title);
    if (run.isClosed) return;
    graphs.append(...made);
    // A graph is drawn in the frame after the one that finds it on the screen.
    await frame();
    await frame();
    if (run.isClosed) return;
  }
  place.append(more(run, graphs));
  for (const part of [airtime, drops, delays]) {
    const made = await part(run);
    if (run.isClosed) return;
    place.append(...made);
  }
}

/** The buttons and the strip, which stay at the top of the window. */
async function controls(run) {
  const { range } = run;
  const span = range.to - range.from;
  const text = h("output", { class: "shown" });
  const show = () => {
    const [from, to] = [range.from, range.to].map(x => seconds(x, range.to - range.from));
    text.textContent = range.isAll ? `all ${seconds(span, span)}` : `${from} to ${to}`;
  };
  run.atEnd(range.subscribe(show));
  show();
  const button = (label, name, click) =>
    h("button", { type: "button", "aria-label": name, title: name, click }, label);
  const [table, column] = GRAPHS.find(([name, key]) => run.has(name, key)) ?? [];
  const overview = table ? await run.series(table, column) : [];
  return h("div", { class: "controls", role: "group", "aria-label": "Shown time" },
    h("div", { class: "buttons" }, text,
      button("−", "Zoom out", () => range.zoom(2)), button("+", "Zoom in", () => range.zoom(0.5)),
      button("←", "Earlier", () => range.pan(-0.25)),
      button("→", "Later", () => range.pan(0.25)),
      button("All", "Show all of the time", () => range.reset())),
    brush(range, overview, run.hiddenOf(table ?? "flows"), (...ends) => run.atEnd(...ends)));
}

/** A graph of a column; none where it has no value but zero. */
async function graph(run, table, column, heading) {
  const title = table === "intervals" ? `${heading} of ${number(run.interval * 1e3)} ms` : heading;
  const series = await run.series(table, column);
  const isAlive = one => one.ys.some(value => value !== 0 && !Number.isNaN(value));
  const alive = series.filter(isAlive);
  if (alive.length === 0) return [];
  const left = series.length - alive.length;
  const note = left ? `${left} more without a value other than 0.` : "";
  const { unit } = unitOf(column);
  const about = run.tables[table].about(column);
  const hidden = run.hiddenOf(table);
  return [run.chart({ title, unit, about, series: alive, hidden, note })];
}

/** A choice of any further column as a graph. */
function more(run, graphs) {
  const shown = new Set(GRAPHS.map(([table, column]) => `${table}.${column}`));
  const names = [];
  for (const [name, table] of Object.entries(run.tables)) {
    if (!KEYS[name]) continue;
    for (const column of table.columns) {
      const key = `${name}.${column.name}`;
      const isTime = ["t_ns", "at_unix_ns", "stream"].includes(column.name);
      if (!column.isText && !isTime && !shown.has(key)) names.push(key);
    }
  }
  if (names.length === 0) return "";
  const none = "choose a column";
  const add = async chosen => {
    const [table, column] = chosen.split(".");
    if (chosen === none) return;
    const made = await graph(run, table, column, `${unitOf(column).words}, ${table}`);
    if (run.isClosed) return;
    const nothing = h("p", { class: "note" }, `${chosen} has no value other than 0.`);
    graphs.append(...made.length ? made : [nothing]);
    graphs.lastElementChild.scrollIntoView({ block: "nearest" });
  };
  return h("p", null, choice("Another graph:", [none, ...names], none, add));
}

/** A section that is computed anew for each shown range. */
function ofRange(run, heading, compute) {
  const body = h("div");
  const element = h("section", null, h("h2", null, heading), body);
  const later = new Later(element, () => body.replaceChildren(compute(run.range)));
  const stop = run.range.subscribe(() => later.ask());
  run.atEnd(stop, () => later.close());
  later.ask();
  return element;
}

function bar(share) {
  return h("span", { class: "bar", "aria-hidden": "true" },
    h("span", { style: `width:${Math.min(100 * share, 100)}%` }));
}

async function airtime(run) {
  if (!run.has("pairs", "airtime_ns")) return [];
  const [data, control] = await Promise.all(["airtime_ns", "control_airtime_ns"]
    .map(column => run.series("pairs", column)));
  return [ofRange(run, "Airtime by transmitter and receiver", ({ from, to }) => {
    const rows = data.map((one, i) => {
      const sums = [one, control[i]].map(series => sumOver(series, from, to) / 1e3 / (to - from));
      return [one.name, ...sums];
    });
    rows.sort((a, b) => b[1] + b[2] - a[1] - a[2]);
    const cells = rows.map(([name, own, answers]) => [name, bar(own + answers),
      `${number(100 * own)} %`, `${number(100 * answers)} %`]);
    const heads = ["transmitter > receiver", "both", "data", "ACK and CTS"];
    return sheet("Share of the shown time", heads, cells);
  })];
}

const CAUSES = ["queue_full", "retry_limit", "link_loss", "no_route", "aqm", "ack_filtered"];

async function drops(run) {
  if (!run.has("queues", "drops_queue_full")) return [];
  const causes = CAUSES.filter(cause => run.has("queues", `drops_${cause}`));
  const counters = await Promise.all(causes.map(cause => run.series("queues", `drops_${cause}`)));
  const entered = await run.series("queues", "enqueued");
  return [ofRange(run, "Drops by cause", ({ from, to }) => {
    const rows = entered.map((queue, i) => [queue.name, growthOver(queue, from, to),
      ...counters.map(of => growthOver(of[i], from, to))]);
    const worst = rows.filter(row => row.slice(2).some(count => count > 0));
    if (worst.length === 0) return h("p", null, "Nothing was dropped in the shown time.");
    const used = causes.map((_, i) => i).filter(i => worst.some(row => row[i + 2] > 0));
    const heads = ["queue", "entered", ...used.map(i => causes[i].replaceAll("_", " "))];
    const cells = worst.map(row => [row[0], String(row[1]), ...used.map(i => String(row[i + 2]))]);
    const clean = rows.length - worst.length;
    return sheet("Packets in the shown time", heads, cells,
      clean ? `${clean} more dropped nothing.` : "");
  })];
}

const QUANTILES = [["median", 0.5], ["p90", 0.9], ["p99", 0.99], ["p99.9", 0.999], ["most", 1]];

async function delays(run) {
  const bins = run.tables.delay_bins;
  if (!bins || bins.rows === 0) return [];
  const upper = (await bins.numbers("to_ns")).map(ns => ns / 1e6);
  const found = cumulative(await bins.names("flow"), upper, await bins.numbers("delivered"));
  const rows = found.map(one =>
    [one.name, String(one.total), ...QUANTILES.map(([, q]) => number(quantile(one, q)))]);
  const series = found.map(({ name, upper: xs, sums, total }) =>
    new Series(name, Float64Array.from(xs), Float64Array.from(sums, sum => 100 * sum / total)));
  const longest = Math.max(...found.map(one => quantile(one, 0.999)));
  const chart = run.chart({ title: "Delivered within a delay", unit: "%", series, isTime: false,
    xUnit: "ms", range: new Range(0, longest * 1.05), hidden: run.hiddenOf("flows"),
    note: "Horizontal: one-way delay in ms, up to the 99.9th percentile." });
  return [h("section", null, h("h2", null, "One-way delays"),
    sheet("Of the measured span, in ms", ["flow", "delivered", ...QUANTILES.map(([name]) => name)],
      rows), h("div", { class: "graphs" }, chart))];
}

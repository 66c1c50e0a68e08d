// One graph: series over a shared range, with a legend that shows values and hides series.

import uPlot from "uplot";
import { drawn } from "./breathe.js";
import { Columns, dots } from "./columns.js";
import { h } from "./dom.js";
import { number, quantity } from "./format.js";
import { Later } from "./later.js";
import { extremesOf, visible } from "./thin.js";
import { look, onTheme, swatch, theme } from "./theme.js";

const HEIGHT = 210;
const AXIS = 64;
export const KEYS = "Drag, + or − zoom; Shift and drag, ← or → move; Shift and ← or → read "
  + "values; double click, 0 or Escape show all.";

/** Names of hidden series, shared by the graphs that have them. */
export class Hidden {
  constructor() {
    this.names = new Set();
    this.listeners = new Set();
    this.numbers = new Map();
  }

  /** The number of a name, by which it has the same colour in all graphs. */
  numberOf(name) {
    if (!this.numbers.has(name)) this.numbers.set(name, this.numbers.size);
    return this.numbers.get(name);
  }

  toggle(name) {
    if (!this.names.delete(name)) this.names.add(name);
    for (const listener of this.listeners) listener();
  }
}

/** Sets the text of an element. An equal text would have the browser lay out the page again. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A graph of `series` (names, times in seconds, values in `unit`). `labels` are written along the
 * axes, `groups` below whole numbers of the horizontal one, and `bounds` limit the vertical one.
 * A series may have functions of its own: `paths` draws it, `under` and `over` what lies behind and
 * before all series, `extent` is its range of values, `text` a value in words. */
export class Chart {
  constructor({ title, unit = "", about = "", series, range, hidden = new Hidden(), isTime = true,
    xUnit = "s", isDots = false, note = "", height = HEIGHT, labels, groups, bounds,
    sync = "time" }) {
    Object.assign(this, { title, unit, series, range, hidden, isTime, xUnit, isDots, height, labels,
      groups, bounds, sync });
    // Another graph may have the same series.
    this.entries = new Map(series.map(one => [one, this.entry(one)]));
    const label = unit ? `${title} (${unit})` : title;
    this.place = h("div", { class: "canvas", tabindex: 0, role: "application",
      "aria-label": `Graph: ${label}`, "aria-describedby": "keys",
      style: `min-height:${height}px`,
      keydown: event => this.key(event), wheel: event => this.wheel(event) });
    this.picture = new Columns();
    this.state = h("span", { class: "note" });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": `Series: ${title}` },
      Array.from(this.entries.values(), ({ button }) => button));
    this.at = h("p", { class: "at" });
    const caption = h("figcaption", { title: about }, h("h3", null, label), this.state);
    this.element = h("figure", { class: "chart" }, caption, this.place, this.legend, this.at,
      note ? h("p", { class: "note" }, note) : null);
    this.element.chart = this;
    const later = new Later(this.element, () => this.draw());
    this.redraw = () => later.ask();
    const stopRange = range.subscribe(this.redraw);
    const change = () => {
      this.series.forEach(one => this.mark(one));
      this.redraw();
    };
    hidden.listeners.add(change);
    const stopTheme = onTheme(change);
    change();
    const sizes = new ResizeObserver(this.redraw);
    sizes.observe(this.place);
    /** Ends what would outlive the element. */
    this.close = () => {
      stopRange();
      stopTheme();
      hidden.listeners.delete(change);
      later.close();
      sizes.disconnect();
      this.plot?.destroy();
    };
  }

  /** The entry of a series in the legend: a button that hides it, and shows its value at the
   * cursor. `index` is the number of its colour. */
  entry({ name }) {
    const value = h("b");
    const place = h("span", { class: "swatch", "aria-hidden": "true" });
    const click = () => this.hidden.toggle(name);
    const button = h("button", { type: "button", click }, place, name, value);
    return { index: this.hidden.numberOf(name), value, swatch: place, button };
  }

  /** Colour and dashes of a series. */
  look(one) {
    return look(this.entries.get(one).index);
  }

  draw() {
    const width = this.place.clientWidth;
    if (width === 0) return;
    if (!this.plot) this.begin(width);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.height });
    const { from, to } = this.range;
    const shown = this.series.filter(one => !this.hidden.names.has(one.name));
    const columns = Math.max(Math.round(this.plot.bbox.width / devicePixelRatio), 50);
    const plain = shown.filter(one => !one.paths);
    const { isExact, data: [times, ...values] = [[]], thinned = null } =
      visible(plain, from, to, columns, this.thinned);
    if (times.length === 0) times.push(from, to);
    Object.assign(this, { isExact, thinned });
    const none = new Array(times.length);
    const all = this.series.map(one => values[plain.indexOf(one)] ?? none);
    say(this.state, this.series.some(one => one.isMerged) ? ""
      : isExact || thinned.isEach ? "each point" : "least and greatest of each pixel");
    this.plot.batch(() => {
      this.plot.setData([times, ...all], false);
      this.plot.setScale("x", { min: from, max: to });
    });
    drawn();
    this.read();
  }

  /** Shows in its button whether a series is hidden. */
  mark(one) {
    const isShown = !this.hidden.names.has(one.name);
    const { index, button, swatch: place } = this.entries.get(one);
    button.setAttribute("aria-pressed", isShown);
    swatch(place, index, isShown);
  }

  begin(width) {
    const axis = { stroke: () => theme().soft, grid: { stroke: () => theme().line, width: 1 },
      ticks: { stroke: () => theme().line, width: 1 }, font: "12px system-ui, sans-serif" };
    const ticks = (_, splits) => splits.map(value => number(Number(value.toPrecision(9))));
    const points = uPlot.paths.linear();
    const dots = one => ({ show: true, size: 4, width: 0, fill: () => this.look(one).colour });
    const series = this.series.map(one => ({
      label: one.name, width: 1.5, stroke: () => this.look(one).colour, dash: this.look(one).dash,
      spanGaps: false, fill: () => this.look(one).colour,
      paths: (plot, ...place) => {
        if (one.paths) return this.hidden.names.has(one.name) ? null : one.paths(plot);
        return this.isExact ? { ...points(plot, ...place), fill: null } : null;
      },
      ...(one.isDotted && { points: { ...dots(one), size: 7, show: () => this.isExact } }),
      ...(this.isDots && { paths: () => null, points: dots(one) }),
    }));
    const xTicks = this.groups
      ? (_, splits) => splits.map(x => this.groups[x] ?? "") : ticks;
    const [xAxis, yAxis] = ["x", "y"].map(one => (this.labels && { label: this.labels[one],
      labelSize: 22, labelGap: 0, labelFont: "13px system-ui, sans-serif" }));
    this.plot = new uPlot({
      width, height: this.height, legend: { show: false }, series: [{}, ...series],
      scales: { x: { time: false, auto: false },
        y: { range: (_, low, high) => this.vertical(low, high) } },
      axes: [{ ...axis, ...xAxis, values: xTicks, size: 34, ...(this.groups && { incrs: [1] }) },
        { ...axis, ...yAxis, values: ticks, size: AXIS }],
      cursor: this.cursor(), hooks: { setSelect: [plot => this.selected(plot)],
        setCursor: [() => this.read()], drawAxes: [plot => this.layer(plot, "under")],
        draw: [plot => this.columns(plot), plot => this.layer(plot, "over")] },
      padding: [8, 12, 0, 0],
    }, [[], ...this.series.map(() => [])], this.place);
  }

  /** The range of the vertical axis for values from `low` to `high`. */
  vertical(low, high) {
    for (const one of this.series) {
      const known = this.thinned?.places.get(one);
      if (this.hidden.names.has(one.name) || !(one.extent || known)) continue;
      const [least, greatest] = one.extent?.(this.range.from, this.range.to)
        ?? extremesOf(known);
      low = Math.min(low ?? least, least);
      high = Math.max(high ?? greatest, greatest);
    }
    if (low === null || low > high) return this.bounds ?? [0, 1];
    if (this.bounds && this.range.isAll) return this.bounds;
    // No axis of a counter or share that stays at zero goes below it.
    if (low === 0 && high === 0) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    const [bottom, top] = [low >= 0 && low < high / 2 ? 0 : low - room, high + room];
    return this.bounds ? [bottom, Math.max(Math.min(top, this.bounds[1]), bottom + room)]
      : [bottom, top];
  }

  /** Draws thinned series. */
  columns(plot) {
    if (!this.thinned) return;
    const series = [];
    for (const one of this.series) {
      const known = this.thinned.places.get(one);
      if (known) series.push({ ...known, ...this.look(one) });
    }
    if (this.isDots) dots(plot, series);
    else this.picture.paint(plot, this.thinned, series);
  }

  /** Draws what lies behind the series, or in front of them. */
  layer(plot, name) {
    const { ctx: context, bbox: { left, top, width, height } } = plot;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    for (const one of this.series) {
      if (!this.hidden.names.has(one.name)) one[name]?.(plot, context, this.look(one).colour);
    }
    context.restore();
  }

  cursor() {
    const moves = { pub: type => type === "mousemove" || type === "mouseleave" };
    return {
      y: false, drag: { x: true, y: false, setScale: false, dist: 4 },
      sync: this.isTime ? { key: this.sync, filters: moves, scales: ["x", null] } : undefined,
      bind: {
        dblclick: () => () => this.range.reset(),
        mousedown: (_, __, usual) => event => (event.shiftKey ? this.drag(event) : usual(event)),
      },
    };
  }

  /** Shows the range that was drawn with the pointer. */
  selected(plot) {
    const { left, width } = plot.select;
    if (width <= 0) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.range.set(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  /** Moves the range with the pointer until the button is released. */
  drag(start) {
    let last = start.clientX;
    const move = event => {
      const { width } = this.plot.over.getBoundingClientRect();
      this.range.pan((last - event.clientX) / width);
      last = event.clientX;
    };
    const end = () => removeEventListener("pointermove", move);
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
  }

  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const by = event.deltaY || event.deltaX;
    if (event.shiftKey) return this.range.pan(by > 0 ? 0.1 : -0.1);
    const box = this.plot.over.getBoundingClientRect();
    this.range.zoom(by > 0 ? 1.25 : 0.8, this.plot.posToVal(event.clientX - box.left, "x"));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.plot) return;
    const step = event.key === "ArrowLeft" ? -1 : 1;
    const arrow = () => (event.shiftKey ? this.step(step) : this.range.pan(step * 0.1));
    const actions = {
      "+": () => this.range.zoom(0.5), "=": () => this.range.zoom(0.5),
      "-": () => this.range.zoom(2), "0": () => this.range.reset(),
      Escape: () => this.range.reset(), ArrowLeft: arrow, ArrowRight: arrow,
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** Moves the cursor by a hundredth of the width. */
  step(by) {
    const { width, height } = this.plot.over.getBoundingClientRect();
    const now = this.plot.cursor.left >= 0 ? this.plot.cursor.left : width / 2;
    const left = Math.min(Math.max(now + by * width / 100, 0), width - 1);
    this.plot.setCursor({ left, top: height / 2 }, true, true);
    const values = Array.from(this.entries, ([{ name }, { value }]) => name + value.textContent);
    document.getElementById("status").textContent = `${this.at.textContent}: ${values.join(", ")}`;
  }

  /** Shows the exact value of each series at the point nearest to the cursor. */
  read() {
    const { left } = this.plot.cursor;
    const x = left >= 0 ? this.plot.posToVal(left, "x") : null;
    const at = this.groups?.[Math.round(x)] ?? quantity(Number(x?.toPrecision(6)), this.xUnit);
    say(this.at, x === null ? "" : `at ${at}`);
    for (const [one, { value }] of this.entries) {
      const place = x === null ? -1 : one.nearest(x);
      const text = place < 0 ? "" : one.text?.(place) ?? number(one.ys[place]);
      say(value, text && ` ${text}`);
    }
  }
}

// One graph: series over a shared range, with a legend that shows values and hides series.

import uPlot from "uplot";
import { h, nextFrame } from "./dom.js";
import { number, quantity } from "./format.js";
import { visible } from "./thin.js";
import { look, onTheme, theme } from "./theme.js";

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

/** Draws what is on the screen when it comes there, and marks the others as outdated. */
const watcher = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) target.chart.show(isIntersecting);
}, { rootMargin: "50px" });

// Paper shows all graphs.
addEventListener("beforeprint", () => {
  for (const figure of document.querySelectorAll("figure.chart")) figure.chart?.draw(true);
});

/** A graph of `series` (names, times in seconds, values in `unit`). */
export class Chart {
  constructor({ title, unit = "", about = "", series, range, hidden = new Hidden(), isTime = true,
    xUnit = "s", isDots = false, note = "" }) {
    Object.assign(this, { title, unit, series, range, hidden, isTime, xUnit, isDots });
    const label = unit ? `${title} (${unit})` : title;
    this.place = h("div", { class: "canvas", tabindex: 0, role: "application",
      "aria-label": `Graph: ${label}`, "aria-describedby": "keys",
      keydown: event => this.key(event), wheel: event => this.wheel(event) });
    this.state = h("span", { class: "note" });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": `Series: ${title}` },
      series.map(one => this.entry(one)));
    this.at = h("p", { class: "at" });
    const caption = h("figcaption", { title: about }, h("h3", null, label), this.state);
    this.element = h("figure", { class: "chart" }, caption, this.place, this.legend, this.at,
      note ? h("p", { class: "note" }, note) : null);
    this.element.chart = this;
    this.redraw = nextFrame(() => this.draw());
    range.subscribe(this.redraw);
    const change = () => {
      this.series.forEach(one => this.mark(one));
      this.redraw();
    };
    hidden.listeners.add(change);
    const stopTheme = onTheme(change);
    change();
    watcher.observe(this.element);
    const sizes = new ResizeObserver(this.redraw);
    sizes.observe(this.place);
    /** Ends what would outlive the element. */
    this.close = () => {
      stopTheme();
      watcher.unobserve(this.element);
      sizes.disconnect();
      this.plot?.destroy();
    };
  }

  /** A button that hides a series, and shows its value at the cursor. */
  entry(one) {
    one.index = this.hidden.numberOf(one.name);
    const click = () => this.hidden.toggle(one.name);
    one.value = h("b");
    one.swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    one.button = h("button", { type: "button", click }, one.swatch, one.name, one.value);
    return one.button;
  }

  show(isVisible) {
    this.isVisible = isVisible;
    if (isVisible && this.isOutdated) this.redraw();
  }

  draw(isForced = false) {
    this.isOutdated = !this.isVisible && !isForced;
    const width = this.place.clientWidth;
    if (this.isOutdated || width === 0) return;
    if (!this.plot) this.begin(width);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
    const { from, to } = this.range;
    const shown = this.series.filter(one => !this.hidden.names.has(one.name));
    const columns = Math.max(Math.round(width - AXIS), 50);
    const { isExact, data } = visible(shown, from, to, columns);
    const [times, ...values] = data;
    this.isExact = isExact;
    const none = new Array(times.length);
    const all = this.series.map(one => (shown.includes(one) ? values[shown.indexOf(one)] : none));
    this.state.textContent = isExact ? "each point" : "least and greatest of each pixel";
    this.plot.batch(() => {
      this.plot.setData([times, ...all], false);
      this.plot.setScale("x", { min: from, max: to });
    });
    performance.mark("drawn");
    this.read();
  }

  /** Shows in its button whether a series is hidden. */
  mark(one) {
    const isShown = !this.hidden.names.has(one.name);
    one.button.setAttribute("aria-pressed", isShown);
    const { colour } = look(one.index);
    one.swatch.style.background = isShown ? colour : "transparent";
    one.swatch.style.borderColor = colour;
  }

  begin(width) {
    const axis = { stroke: () => theme().soft, grid: { stroke: () => theme().line, width: 1 },
      ticks: { stroke: () => theme().line, width: 1 }, font: "12px system-ui, sans-serif" };
    const ticks = (_, splits) => splits.map(value => number(Number(value.toPrecision(9))));
    const points = uPlot.paths.linear();
    const series = this.series.map(({ name, index }) => ({
      label: name, width: 1.5, stroke: () => look(index).colour, dash: look(index).dash,
      spanGaps: false, fill: () => look(index).colour,
      paths: (plot, ...place) => (this.isExact
        ? { ...points(plot, ...place), fill: null } : envelope(plot, ...place)),
      ...(this.isDots && { paths: () => null, points: { show: true, size: 4, width: 0,
        fill: () => look(index).colour } }),
    }));
    const height = (_, low, high) => {
      if (low === null) return [0, 1];
      const room = (high - low || Math.abs(high) || 1) * 0.06;
      return [low >= 0 && low < high / 2 ? 0 : low - room, high + room];
    };
    this.plot = new uPlot({
      width, height: HEIGHT, legend: { show: false }, series: [{}, ...series],
      scales: { x: { time: false, auto: false }, y: { range: height } },
      axes: [{ ...axis, values: ticks, size: 34 }, { ...axis, values: ticks, size: AXIS }],
      cursor: this.cursor(), hooks: { setSelect: [plot => this.selected(plot)],
        setCursor: [() => this.read()] },
      padding: [8, 12, 0, 0],
    }, [[], ...this.series.map(() => [])], this.place);
  }

  cursor() {
    const moves = { pub: type => type === "mousemove" || type === "mouseleave" };
    return {
      y: false, drag: { x: true, y: false, setScale: false, dist: 4 },
      sync: this.isTime ? { key: "time", filters: moves, scales: ["x", null] } : undefined,
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
    const values = this.series.map(one => `${one.name}${one.value.textContent}`);
    document.getElementById("status").textContent = `${this.at.textContent}: ${values.join(", ")}`;
  }

  /** Shows the exact value of each series at the point nearest to the cursor. */
  read() {
    const { left } = this.plot.cursor;
    const x = left >= 0 ? this.plot.posToVal(left, "x") : null;
    this.at.textContent = x === null ? "" : `at ${quantity(Number(x.toPrecision(6)), this.xUnit)}`;
    for (const one of this.series) {
      const place = x === null ? -1 : one.nearest(x);
      one.value.textContent = place < 0 ? "" : ` ${number(one.ys[place])}`;
    }
  }
}

/** The area between the least and the greatest values of columns of pixels. A line through all of
 * them would cross the height of the graph a thousand times, which takes long to draw. */
function envelope(plot, index) {
  const [xs, ys] = [plot.data[0], plot.data[index]];
  const path = new Path2D();
  let columns = [];
  const end = () => {
    if (columns.length) path.moveTo(columns[0].x, columns[0].bottom);
    columns.forEach(({ x, top }) => path.lineTo(x, top));
    columns.reverse().forEach(({ x, bottom }) => path.lineTo(x, bottom));
    if (columns.length) path.closePath();
    columns = [];
  };
  for (let at = 0; at < xs.length; at += 2) {
    if (ys[at] === null) end();
    if (ys[at] === null || ys[at] === undefined) continue;
    const x = plot.valToPos((xs[at] + xs[at + 1]) / 2, "x", true);
    const [a, b] = [ys[at], ys[at + 1]].map(y => plot.valToPos(y, "y", true));
    columns.push({ x, top: Math.min(a, b), bottom: Math.max(a, b) });
  }
  end();
  return { stroke: path, fill: path, flags: 0 };
}

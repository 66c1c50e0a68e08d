// Series of a report's figures: points with intervals, columns in groups, and spans.

import { number } from "../format.js";
import { theme } from "../theme.js";
import { lowerBound, Pyramid, Series } from "../thin.js";

/** Share of the width of a group that its columns fill. */
const FILL = 0.8;
/** The colour of a ground that marks spans of time. */
const GROUND = "#e5c04b59";
/** Radius of a dot in pixels. */
const DOT = 2.5;

/** Numbers from the decimal places, and the differences from each to the next. */
export function numbers([places, ...differences]) {
  const unit = 10 ** Math.abs(places);
  let sum = 0;
  return Float64Array.from(differences, difference => {
    sum += difference;
    return places < 0 ? sum * unit : sum / unit;
  });
}

/** The series of a figure for its graph. */
export function seriesOf(one, figure) {
  const [xs, ys] = [numbers(one.x), numbers(one.y)];
  const [low, high, to] = ["low", "high", "to"].map(key => one[key] && numbers(one[key]));
  const of = { ...one, xs, ys, low, high, to };
  if (one.form === "columns") return new Columns(of, figure.series.indexOf(one), figure);
  return SPANS[one.form] ? new Spans(of) : new Points(of);
}

/** Points with their intervals, as a line or as dots. */
class Points extends Series {
  constructor({ label, form, xs, ys, low, high }) {
    // Points of one column of pixels are found by their order.
    const order = Array.from(xs.keys()).sort((a, b) => xs[a] - xs[b]);
    const sorted = values => values && Float64Array.from(order, place => values[place]);
    super(label, sorted(xs), sorted(ys));
    Object.assign(this, { low: sorted(low), high: sorted(high), isDotted: form === "dotted" });
    if (low) this.pyramids = [new Pyramid(this.low), new Pyramid(this.high)];
    if (form === "dots" || form === "strokes") this.paths = plot => this.dots(plot, form);
  }

  ends() {
    return this.xs.length ? [this.xs[0], this.xs.at(-1)] : [];
  }

  extent(from, to) {
    const [first, last] = this.within(from, to);
    const of = pyramid => pyramid.extremes(first, last).map(place => pyramid.values[place]);
    const [a, b] = (this.pyramids ?? [this.pyramid]).map(of);
    return [a[0] ?? Infinity, (b ?? a)[1] ?? -Infinity];
  }

  text(place) {
    const mean = number(this.ys[place]);
    return this.low ? `${mean} (${number(this.low[place])} to ${number(this.high[place])})` : mean;
  }

  /** One mark for all points at the same pixel. */
  dots(plot, form) {
    const path = new Path2D();
    const taken = new Set();
    for (const [x, y] of this.pixels(plot, this.ys)) {
      const key = Math.round(x) * 1e5 + Math.round(y);
      if (taken.has(key)) continue;
      taken.add(key);
      if (form === "strokes") path.rect(x - 0.5, y - 4, 1, 8);
      else {
        const size = DOT * devicePixelRatio;
        path.moveTo(x + size, y);
        path.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    return { stroke: null, fill: path, flags: 0 };
  }

  pixels(plot, values) {
    const { min, max } = plot.scales.x;
    const [first, last] = this.within(min, max);
    const place = at =>
      [plot.valToPos(this.xs[at], "x", true), plot.valToPos(values[at], "y", true)];
    return Array.from({ length: last - first }, (_, i) => place(first + i));
  }

  /** The intervals, as a band with a bar at each point. */
  under(plot, context, colour) {
    if (!this.low) return;
    const [low, high] = [this.low, this.high].map(values => this.pixels(plot, values));
    context.globalAlpha = 0.18;
    context.fillStyle = colour;
    context.beginPath();
    [...high, ...low.toReversed()].forEach(([x, y]) => context.lineTo(x, y));
    context.fill();
    context.globalAlpha = 0.7;
    context.strokeStyle = colour;
    bars(context, low, high);
    context.globalAlpha = 1;
  }
}

/** Upright bars between points. */
function bars(context, low, high) {
  context.beginPath();
  low.forEach(([x, y], i) => {
    context.moveTo(x, y);
    context.lineTo(x, high[i][1]);
  });
  context.stroke();
}

/** Columns of a series in groups, whose intervals are bars. */
class Columns extends Points {
  constructor(of, index, { series }) {
    const width = FILL / series.length;
    const left = index * width - FILL / 2;
    super({ ...of, form: "columns", xs: of.xs.map(group => group + left + width * 0.47) });
    this.width = width * 0.94;
    this.paths = plot => this.columns(plot);
  }

  extent(from, to) {
    const [least, greatest] = super.extent(from, to);
    return [Math.min(least, 0), greatest];
  }

  /** The column of the group at `x`. */
  nearest(x) {
    return this.xs.findIndex(middle => Math.round(middle) === Math.round(x));
  }

  columns(plot) {
    const [columns, marks] = [new Path2D(), new Path2D()];
    const base = plot.valToPos(Math.max(0, plot.scales.y.min), "y", true);
    const wide = plot.valToPos(this.width, "x", true) - plot.valToPos(0, "x", true);
    for (const [x, y] of this.pixels(plot, this.ys)) columns.rect(x - wide / 2, y, wide, base - y);
    return { stroke: marks, fill: columns, flags: 0 };
  }

  under() {}

  over(plot, context) {
    if (!this.low) return;
    context.strokeStyle = theme().ink;
    context.lineWidth = 1.5 * devicePixelRatio;
    bars(context, this.pixels(plot, this.low), this.pixels(plot, this.high));
  }
}

/** How the spans of a series are drawn. */
const SPANS = {
  bars(path, { x, to, low, high }) {
    path.moveTo((x + to) / 2, low);
    path.lineTo((x + to) / 2, Math.min(high, low - 2));
    if (to - x > 1) path.rect(x, high, to - x, Math.max(low - high, 1));
  },
  steps(path, { x, to, low, high }, before) {
    if (before) path.lineTo(x, before.high);
    path[before ? "lineTo" : "moveTo"](x, low);
    path.lineTo(to, high);
  },
  spans(path, { x, to, low, high }, before) {
    path[before ? "lineTo" : "moveTo"](x, low);
    path.lineTo(to, high);
  },
  ranges(path, { x, to, low, high }) {
    const middle = (x + to) / 2;
    if (low - high > 2) {
      path.moveTo(middle, low);
      path.lineTo(middle, high);
    } else {
      const size = 2 * devicePixelRatio;
      path.rect(middle - size / 2, high - size / 2, size, size);
    }
  },
  bands() {},
};

/** Ranges of values between two times. */
class Spans extends Series {
  constructor({ label, form, xs, ys, low, to }) {
    super(label, xs, ys);
    Object.assign(this, { form, low: low ?? ys, to: to ?? xs, isMerged: true });
    this.lows = low ? new Pyramid(low) : this.pyramid;
    this.paths = plot => this.path(plot);
  }

  ends() {
    return this.xs.length ? [this.xs[0], Math.max(...this.to.slice(-2))] : [];
  }

  /** Places of the spans of which a part lies in a range. */
  within(from, to) {
    const first = lowerBound(this.xs, from);
    return [Math.max(first - 1, 0), Math.min(lowerBound(this.xs, to, first) + 1, this.xs.length)];
  }

  extent(from, to) {
    if (this.form === "bands") return [Infinity, -Infinity];
    const [first, last] = this.within(from, to);
    const [least] = this.lows.extremes(first, last);
    const [, greatest] = this.pyramid.extremes(first, last);
    return [this.low[least] ?? Infinity, this.ys[greatest] ?? -Infinity];
  }

  /** The last span that begins at or before `x`. */
  nearest(x) {
    const at = lowerBound(this.xs, x);
    return this.xs[at] === x ? at : Math.max(at - 1, this.xs.length ? 0 : -1);
  }

  text(place) {
    const [low, high] = [this.low[place], this.ys[place]].map(number);
    if (this.form === "bands") return "";
    return low === high ? high : `${low} to ${high}`;
  }

  path(plot) {
    const path = new Path2D();
    let before = null;
    for (const span of this.spans(plot)) {
      SPANS[this.form](path, span, before);
      before = span;
    }
    return { stroke: path, fill: null, flags: 0 };
  }

  /** The visible spans in pixels. */
  * spans(plot) {
    const { min, max } = plot.scales.x;
    const [first, last] = this.within(min, max);
    const [x, y] = ["x", "y"].map(scale => value => plot.valToPos(value, scale, true));
    for (let at = first; at < last; at++) {
      yield { x: x(this.xs[at]), to: x(this.to[at]), low: y(this.low[at]), high: y(this.ys[at]) };
    }
  }

  /** Bands lie behind all else. */
  under(plot, context) {
    if (this.form !== "bands") return;
    const { top, height } = plot.bbox;
    context.fillStyle = GROUND;
    for (const { x, to } of this.spans(plot)) context.fillRect(x, top, Math.max(to - x, 1), height);
  }
}

// Means over seeds with their 95 % confidence intervals, as a graph and as tables.

import { h, nextFrame, sheet } from "./dom.js";
import { number } from "./format.js";
import { look, onTheme, swatch, theme } from "./theme.js";

const HEIGHT = 260;

/** A mean and its interval in words, both to the second digit of the interval. */
export function interval({ mean, half_width: half }) {
  if (half === null || half === undefined) return number(mean);
  if (half === 0) return `${number(mean)} ± 0`;
  const digits = Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), 6);
  return `${mean.toFixed(digits)} ± ${half.toFixed(digits)}`;
}

/** The position of each value on the horizontal axis: its number if all have one, else its
 * place in the list. */
export function positions(values) {
  const numbers = values.map(value => Number.parseFloat(value));
  const unit = value => value.replace(/^["']?[-+]?[\d.]+([eE][-+]?\d+)?/, "");
  const units = new Set(values.map(unit));
  const isNumeric = numbers.every(Number.isFinite) && units.size === 1;
  return isNumeric ? numbers : values.map((_, i) => i);
}

/** The most series of a graph. */
const MOST_SERIES = 16;

/** The points of a sweep over one axis: the values of the axis, and one series for each part of the
 * figure and each combination of the other axes. `left` counts those beyond the most of a graph. */
export function over(points, axis, { label, parts }) {
  const values = [...new Set(points.map(point => point.axes[axis]))];
  const at = positions(values);
  const series = new Map();
  for (const point of points) {
    const others = Object.entries(point.axes).filter(([key]) => key !== axis)
      .map(([key, value]) => `${key} = ${value}`);
    for (const { name, part } of parts) {
      const metric = point.metrics[name];
      if (!metric) continue;
      const title = [part, ...others].filter(Boolean).join(", ") || label;
      if (!series.has(title)) series.set(title, []);
      series.get(title).push({ x: at[values.indexOf(point.axes[axis])], ...metric });
    }
  }
  const list = [...series].map(([name, of]) => ({ name, points: of.sort((a, b) => a.x - b.x) }));
  return { values, at, series: list.slice(0, MOST_SERIES),
    left: Math.max(list.length - MOST_SERIES, 0) };
}

/** A graph of means with their intervals. Its `close` ends its following of the window. */
export function meansChart({ values, at, series, left }, axis, title) {
  const canvas = h("canvas", { role: "img", "aria-label": `Means of ${title} by ${axis}; the table `
    + "has the numbers" });
  const place = h("div", { class: "canvas" }, canvas);
  const swatches = series.map(() => h("span", { class: "swatch" }));
  const legend = h("ul", { class: "legend" }, series.map(({ name }, i) =>
    h("li", null, swatches[i], name)));
  const draw = nextFrame(() => {
    swatches.forEach((element, i) => swatch(element, i));
    paint(canvas, place.clientWidth, { values, at, series });
    performance.mark("drawn");
  });
  const observer = new ResizeObserver(draw);
  observer.observe(place);
  const ignore = onTheme(draw);
  const hasBars = series.some(one => one.points.some(({ half_width: half }) => half));
  const bars = hasBars ? " Bars: 95 % intervals of the means." : "";
  const more = left ? ` ${left} more are in the table alone.` : "";
  const chart = h("figure", { class: "chart" }, h("figcaption", null, h("h3", null, title)), place,
    legend, h("p", { class: "note" }, `Horizontal: ${axis}.${bars}${more}`));
  chart.close = () => {
    observer.disconnect();
    ignore();
  };
  return chart;
}

function paint(canvas, width, { values, at, series }) {
  if (!width) return;
  const scale = devicePixelRatio;
  Object.assign(canvas, { width: width * scale, height: HEIGHT * scale });
  Object.assign(canvas.style, { width: `${width}px`, height: `${HEIGHT}px` });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  const all = series.flatMap(one => one.points.flatMap(({ mean, half_width: half }) =>
    [mean - (half ?? 0), mean + (half ?? 0)]));
  const low = Math.min(0, ...all);
  const high = Math.max(...all, low + 1e-9);
  const [left, right, top, bottom] = [64, 24, 10, 26];
  const [first, last] = [Math.min(...at), Math.max(...at)];
  const x = value => left + 20 + (width - left - right - 40)
    * (last > first ? (value - first) / (last - first) : 0.5);
  const y = value => top + (HEIGHT - top - bottom) * (1 - (value - low) / ((high - low) * 1.05));
  axes(context, { width, x, y, low, high, left, values, at });
  series.forEach((one, i) => {
    const shift = series.length > 1 ? 3 * (i % 5) - 6 : 0;
    line(context, one.points, { x, y, ...look(i), shift });
  });
}

function axes(context, { width, x, y, low, high, left, values, at }) {
  context.fillStyle = theme().soft;
  context.strokeStyle = theme().line;
  context.textAlign = "right";
  for (const value of ticks(low, high)) {
    context.fillText(number(value), left - 8, y(value) + 4);
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width, y(value));
    context.stroke();
  }
  context.textAlign = "center";
  let free = -Infinity;
  const fromLeft = [...at.keys()].sort((a, b) => at[a] - at[b]);
  for (const i of fromLeft) {
    const value = values[i];
    const half = context.measureText(value).width / 2 + 4;
    if (x(at[i]) - half < free) continue;
    free = x(at[i]) + half;
    context.fillText(value, Math.min(x(at[i]), width - half), HEIGHT - 8);
  }
}

function line(context, points, { x, y, colour, dash, shift }) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.setLineDash(dash);
  context.lineWidth = 1.5;
  context.beginPath();
  points.forEach(point => context.lineTo(x(point.x) + shift, y(point.mean)));
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1;
  for (const { x: at, mean, half_width: half } of points) {
    context.fillRect(x(at) + shift - 3, y(mean) - 3, 6, 6);
    if (!half) continue;
    context.beginPath();
    for (const end of [mean - half, mean + half]) {
      context.moveTo(x(at) + shift - 5, y(end));
      context.lineTo(x(at) + shift + 5, y(end));
    }
    context.moveTo(x(at) + shift, y(mean - half));
    context.lineTo(x(at) + shift, y(mean + half));
    context.stroke();
  }
}

/** Round numbers from `low` to `high`, about five. */
export function ticks(low, high) {
  const rough = (high - low) / 5 || 1;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * decade).find(n => n >= rough * 0.999);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step * (1 + 1e-9)) - first + 1;
  const tick = i => Number(((first + i) * step).toPrecision(12));
  return Array.from({ length: Math.max(count, 0) }, (_, i) => tick(i));
}

/** The keys of a sweep, as the head of the column of its points. */
export function axesOf([point]) {
  return Object.keys(point?.axes ?? {}).join(", ") || "point";
}

/** A point in that column: its values, without the keys. */
export function valuesOf({ axes }) {
  return Object.values(axes).join(", ") || "all runs";
}

/** A table of a figure at each point, with a column for each of its parts. */
export function meansTable(points, { label, parts }) {
  const rows = points.map(point => {
    const found = parts.map(({ name }) => point.metrics[name]);
    return [valuesOf(point), ...found.map(metric => (metric ? interval(metric) : "–")),
      String(Math.max(...found.map(metric => metric?.n ?? 0)))];
  });
  const heads = parts.map(({ part }) => part || "mean");
  return sheet(`Means with 95 % intervals: ${label}`, [axesOf(points), ...heads, "runs"], rows);
}

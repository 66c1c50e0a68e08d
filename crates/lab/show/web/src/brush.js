// The strip above the graphs: all of the time, with the shown part as a window that can be moved.

import { h, nextFrame } from "./dom.js";
import { seconds } from "./format.js";
import { look, onTheme, theme } from "./theme.js";
import { visible } from "./thin.js";

/** A strip that draws `series`, in the colours of their names in `hidden`, and sets `range`. `atEnd`
 * gets functions that end its following of the range and the window, which both outlive it. */
export function brush(range, series, hidden, atEnd) {
  const indices = series.map(one => hidden.numberOf(one.name));
  const canvas = h("canvas", { "aria-hidden": "true" });
  const shown = h("div", { class: "window" });
  const handles = ["Begin", "End"].map((name, end) => handle(range, name, end));
  const strip = h("div", { class: "brush" }, canvas, shown, handles);
  const place = () => {
    const [low, high] = range.bounds;
    const part = x => `${100 * (x - low) / (high - low)}%`;
    shown.style.left = part(range.from);
    shown.style.right = `calc(100% - ${part(range.to)})`;
    handles.forEach((one, end) => {
      const value = end ? range.to : range.from;
      one.style.left = part(value);
      one.setAttribute("aria-valuenow", value);
      one.setAttribute("aria-valuetext", seconds(value, high - low));
    });
  };
  const draw = nextFrame(() => paint(canvas, range.bounds, series, indices));
  const sizes = new ResizeObserver(draw);
  sizes.observe(strip);
  atEnd(range.subscribe(place), onTheme(draw), () => sizes.disconnect());
  strip.addEventListener("pointerdown", event => grasp(event, strip, handles, range));
  strip.addEventListener("dblclick", () => range.reset());
  place();
  return strip;
}

function handle(range, name, end) {
  const [low, high] = range.bounds;
  const keydown = event => {
    const steps = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01,
      PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    move(range, end, (end ? range.to : range.from) + steps[event.key] * (high - low));
  };
  return h("div", { class: "handle", role: "slider", tabindex: 0, keydown, "aria-valuemin": low,
    "aria-valuemax": high, "aria-label": `${name} of the shown time` });
}

/** Moves one end of the range; the other stays. */
function move(range, end, x) {
  const [low, high] = range.bounds;
  const at = Math.min(Math.max(x, low), high);
  if (end) range.set(range.from, Math.max(at, range.from));
  else range.set(Math.min(at, range.to), range.to);
}

/** A handle moves its end, the window all of it; elsewhere a new range is drawn. */
function grasp(event, strip, handles, range) {
  const box = strip.getBoundingClientRect();
  const [low, high] = range.bounds;
  const time = ({ clientX }) =>
    low + Math.min(Math.max((clientX - box.left) / box.width, 0), 1) * (high - low);
  const begin = time(event);
  const { from, to } = range;
  const end = handles.indexOf(event.target);
  const isInside = end < 0 && !range.isAll && begin > from && begin < to;
  const moved = next => {
    const now = time(next);
    if (end >= 0) move(range, end, now);
    else if (isInside) range.set(from + now - begin, to + now - begin);
    else if (Math.abs(now - begin) > (high - low) / 500) {
      range.set(Math.min(begin, now), Math.max(begin, now));
    }
  };
  addEventListener("pointermove", moved);
  addEventListener("pointerup", () => removeEventListener("pointermove", moved), { once: true });
}

function paint(canvas, [low, high], series, indices) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio;
  Object.assign(canvas, { width: width * scale, height: height * scale });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = theme().line;
  context.fillRect(0, 0, width, height);
  const { data, thinned } = visible(series, low, high, Math.max(width, 1));
  const values = series.map((one, i) => (thinned ? extremes(one, thinned)
    : Array.from(data[i + 1], (y, at) => [data[0][at], y])));
  const highest = values.flat().reduce((most, [, y]) => Math.max(most, y ?? 0), 0) || 1;
  values.forEach((points, i) => {
    const { colour, dash } = look(indices[i]);
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    for (const [x, y] of points) {
      if (y === null || y === undefined) continue;
      context.lineTo(width * (x - low) / (high - low), height - 2 - (height - 4) * y / highest);
    }
    context.stroke();
  });
}

/** The points of a series that stand for its columns. */
function extremes(one, { places }) {
  const found = places.get(one).here.filter(place => place >= 0);
  return Array.from(found, place => [one.xs[place], one.ys[place]]);
}

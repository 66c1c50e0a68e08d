// Series of which a column of pixels has many points: the column is filled from the least to the
// greatest of them. Pixels are written one by one, since a path through a thousand columns takes a
// renderer without a GPU ten times as long.

import { GAP } from "./thin.js";

/** Columns that are turned at once, as many as a line of the processor's cache holds pixels. */
const BLOCK = 16;

/** The picture of a graph's columns, which is kept from frame to frame. */
export class Columns {
  /** Draws `series`, each with its `colour` and `dash`, and the columns that it has in `thinned`. */
  paint(plot, thinned, series) {
    const { left, top, width, height } = plot.bbox;
    const [w, h] = [Math.round(width), Math.round(height)];
    if (w < 1 || h < 1) return;
    if (this.image?.width !== w || this.image.height !== h) {
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
      // Pixels of a column lie beside each other, so that filling one touches little memory.
      this.lanes = new Uint32Array(w * h);
      this.canvas = new OffscreenCanvas(w, h);
    }
    this.lanes.fill(0);
    const { min, max } = plot.scales.y;
    const thick = Math.max(1, Math.round(1.5 * devicePixelRatio));
    const [scale, wide] = [(h - 1) / (max - min), w / (thinned.count - 1)];
    const free = new Free(this.lanes, w, h);
    const edges = Int32Array.from({ length: thinned.count + 1 }, (_, column) =>
      Math.min(Math.max(Math.round((column - thinned.shift) * wide), 0), w));
    // The last series lies above the others: what it covers need not be drawn for them.
    for (const { colour, dash, here, values } of series.toReversed()) {
      free.colour = packed(colour);
      free.hatch(dash, Math.round((thinned.first + thinned.shift) * wide));
      columns(here, i => (max - values[i]) * scale, (column, low, high) => {
        const above = Math.round((low + high) / 2) - (thick >> 1);
        const from = Math.max(0, Math.min(Math.round(low), above));
        const to = Math.min(h - 1, Math.max(Math.round(high), above + thick - 1));
        for (let x = edges[column]; x < edges[column + 1]; x++) free.fill(x, from, to);
      });
    }
    turn(this.lanes, this.pixels, w, h);
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    plot.ctx.drawImage(this.canvas, Math.round(left), Math.round(top));
  }
}

/** Draws the extremes of columns as dots. */
export function dots(plot, series) {
  const { ctx: context, bbox: { left, top, width, height } } = plot;
  const size = 4 * devicePixelRatio;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  for (const { colour, xs, ys, here } of series) {
    context.fillStyle = colour;
    for (const place of here) {
      if (place < 0) continue;
      const [x, y] = [plot.valToPos(xs[place], "x", true), plot.valToPos(ys[place], "y", true)];
      context.fillRect(x - size / 2, y - size / 2, size, size);
    }
  }
  context.restore();
}

/** Calls `fill` with each column that has points, and its ends as pixels from the top. `here` has
 * two places for each column, and `y` the pixel of each of them. Neighbours touch, and a line joins
 * columns with others between them. */
export function columns(here, y, fill) {
  // This runs for each column of all series in each frame: it makes no objects.
  let before = -1;
  let [ends, top, bottom] = [0, 0, 0];
  for (let column = 0; 2 * column < here.length; column++) {
    const first = here[2 * column];
    if (first === GAP) before = -1;
    if (first < 0) continue;
    const a = y(2 * column);
    const b = y(2 * column + 1);
    const low = Math.min(a, b);
    const high = Math.max(a, b);
    const isNext = before >= 0 && before === column - 1;
    if (before >= 0 && !isNext) line(before, ends, column, a, fill);
    fill(column, isNext ? Math.min(low, bottom) : low, isNext ? Math.max(high, top) : high);
    before = column;
    ends = b;
    top = low;
    bottom = high;
  }
}

/** A line from the last point of a column to the first one of a later column. */
function line(from, last, to, first, fill) {
  const slope = (first - last) / (to - from);
  for (let column = from + 1; column < to; column++) {
    const [a, b] = [-0.5, 0.5].map(half => last + slope * (column - from + half));
    fill(column, Math.min(a, b), Math.max(a, b));
  }
}

/** Whether each pixel along a line with these dashes is drawn, up to where they repeat. */
export function pattern(dash, scale) {
  return Uint8Array.from(dash.flatMap((length, i) =>
    new Array(Math.max(Math.round(length * scale), 1)).fill(i % 2 ? 0 : 1)));
}

/** Fills pixels of columns that are still free. Of each column it keeps one span without a free
 * pixel, which most later fills lie in. */
class Free {
  constructor(lanes, w, h) {
    Object.assign(this, { lanes, h, first: new Int32Array(w), end: new Int32Array(w) });
  }

  /** Sets the dashes of what is filled next. They move with the data, whose pixel at the left edge
   * has the number `origin`. */
  hatch(dash, origin) {
    this.pattern = pattern(dash, devicePixelRatio);
    const { length } = this.pattern;
    this.origin = length && (origin % length + length) % length;
  }

  /** Fills the free pixels of column `x` from `from` up to `to`. */
  fill(x, from, to) {
    const first = this.first[x];
    const end = this.end[x];
    if (from >= first && to < end) return;
    if (this.pattern.length > 0) return this.stripes(x, from, to);
    this.among(x * this.h, from, Math.min(to + 1, end > first ? first : to + 1));
    if (end > first) this.among(x * this.h, Math.max(from, end), to + 1);
    const isApart = from > end || to + 1 < first;
    if (isApart && end - first >= to + 1 - from) return;
    this.first[x] = isApart ? from : Math.min(first, from);
    this.end[x] = isApart ? to + 1 : Math.max(end, to + 1);
  }

  /** Fills slanting stripes, so that neither a level line nor an upright one falls between them. */
  stripes(x, from, to) {
    const { lanes, colour, pattern: drawn, origin } = this;
    for (let y = from; y <= to; y++) {
      const at = x * this.h + y;
      if (lanes[at] === 0 && drawn[(origin + x + y) % drawn.length]) lanes[at] = colour;
    }
  }

  among(lane, from, end) {
    const { lanes, colour } = this;
    for (let at = lane + from; at < lane + end; at++) {
      if (lanes[at] === 0) lanes[at] = colour;
    }
  }
}

/** Turns columns into rows. */
function turn(lanes, pixels, w, h) {
  for (let left = 0; left < w; left += BLOCK) {
    const right = Math.min(left + BLOCK, w);
    for (let y = 0; y < h; y++) {
      for (let x = left; x < right; x++) pixels[y * w + x] = lanes[x * h + y];
    }
  }
}

/** A colour as `#rrggbb` in the order of bytes of an image. */
function packed(colour) {
  const number = Number.parseInt(colour.slice(1), 16);
  const bytes = [number >> 16, number >> 8 & 255, number & 255, 255];
  return new Uint32Array(Uint8Array.from(bytes).buffer)[0];
}

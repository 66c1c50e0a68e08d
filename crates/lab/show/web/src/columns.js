// Series of which a column of pixels has many points: the column is filled from the least to the
// greatest of them. Pixels are written one by one, since a path through a thousand columns takes a
// renderer without a GPU ten times as long.

/** The picture of a graph's columns, which is kept from frame to frame. */
export class Columns {
  /** Draws `series`, each with its `colour` and its `values`: two for each of `count` columns,
   * in the order of time; `undefined` where a column has no point, `null` for a gap. */
  paint(plot, count, series) {
    const { left, top, width, height } = plot.bbox;
    const [w, h] = [Math.round(width), Math.round(height)];
    if (w < 1 || h < 1) return;
    if (this.image?.width !== w || this.image.height !== h) {
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.canvas = new OffscreenCanvas(w, h);
    }
    this.pixels.fill(0);
    const { min, max } = plot.scales.y;
    const thick = Math.max(1, Math.round(1.5 * devicePixelRatio));
    for (const { colour, values } of series) {
      const fill = filler(this.pixels, { w, h, count, thick, colour: packed(colour) });
      const y = value => (h - 1) * (max - value) / (max - min);
      columns(values, count, y, fill);
    }
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    plot.ctx.drawImage(this.canvas, Math.round(left), Math.round(top));
  }
}

/** Calls `fill` with each column, and its ends as pixels from the top. Neighbours touch, and a line
 * joins columns with others between them. */
export function columns(values, count, y, fill) {
  let before = null;
  for (let column = 0; column < count; column++) {
    const [first, last] = [values[2 * column], values[2 * column + 1]];
    if (first === null) before = null;
    if (first === null || first === undefined) continue;
    const [a, b] = [y(first), y(last)];
    let [low, high] = [Math.min(a, b), Math.max(a, b)];
    const now = { column, low, high, last: b };
    if (before && before.column === column - 1) {
      low = Math.min(low, before.high);
      high = Math.max(high, before.low);
    } else if (before) line(before, column, a, fill);
    fill(column, low, high);
    before = now;
  }
}

/** A line from the last point of a column to the first one of a later column. */
function line({ column: from, last }, to, first, fill) {
  const slope = (first - last) / (to - from);
  for (let column = from + 1; column < to; column++) {
    const [a, b] = [-0.5, 0.5].map(half => last + slope * (column - from + half));
    fill(column, Math.min(a, b), Math.max(a, b));
  }
}

/** Fills the pixels of a column in a colour, not less than `thick` of them. */
function filler(pixels, { w, h, count, thick, colour }) {
  return (column, low, high) => {
    const middle = Math.round((low + high) / 2);
    const from = Math.max(0, Math.min(Math.round(low), middle - (thick >> 1)));
    const to = Math.min(h - 1, Math.max(Math.round(high), middle - (thick >> 1) + thick - 1));
    const [left, right] = [column, column + 1].map(x => Math.floor(x * w / count));
    for (let x = left; x < right; x++) {
      const end = to * w + x;
      for (let at = from * w + x; at <= end; at += w) pixels[at] = colour;
    }
  };
}

/** A colour as `#rrggbb` in the order of bytes of an image. */
function packed(colour) {
  const number = Number.parseInt(colour.slice(1), 16);
  const bytes = [number >> 16, number >> 8 & 255, number & 255, 255];
  return new Uint32Array(Uint8Array.from(bytes).buffer)[0];
}

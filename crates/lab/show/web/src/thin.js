// Thinning: a drawing of a million points has room for a thousand columns of pixels. Where a column
// would have more points than it can show, its least and its greatest value stand for them.

/** Each level of a pyramid has one entry for so many entries of the level below. */
const FANOUT = 16;

/** The places of the least and the greatest value of every block of a series, level by level. A
 * range of any length is answered from a few blocks. NaN, a missing value, is passed over. */
export class Pyramid {
  constructor(values) {
    this.values = values;
    this.levels = [];
    let below = null;
    for (let size = values.length; size > FANOUT;) {
      size = Math.ceil(size / FANOUT);
      const level = { least: new Int32Array(size), greatest: new Int32Array(size) };
      for (let block = 0; block < size; block++) {
        const found = this.among(below, block * FANOUT, (block + 1) * FANOUT);
        [level.least[block], level.greatest[block]] = found;
      }
      this.levels.push(level);
      below = level;
    }
  }

  /** The places of the extremes among entries of a level (null: among the values themselves). */
  among(level, from, to, found = [-1, -1]) {
    const end = Math.min(to, level ? level.least.length : this.values.length);
    for (let i = from; i < end; i++) {
      this.take(found, level ? level.least[i] : i);
      if (level) this.take(found, level.greatest[i]);
    }
    return found;
  }

  take(found, place) {
    if (place < 0 || Number.isNaN(this.values[place])) return;
    if (found[0] < 0 || this.values[place] < this.values[found[0]]) found[0] = place;
    if (found[1] < 0 || this.values[place] > this.values[found[1]]) found[1] = place;
  }

  /** The places of the least and the greatest value in [from, to); -1 where there is none. */
  extremes(from, to) {
    const found = [-1, -1];
    for (let level = -1; from < to; level++) {
      const entries = level < 0 ? null : this.levels[level];
      const isTop = level + 1 >= this.levels.length;
      // Whole blocks are left to the level above; here only the ends are looked at.
      const first = Math.ceil(from / FANOUT) * FANOUT;
      const last = Math.floor(to / FANOUT) * FANOUT;
      if (isTop || first >= last) {
        this.among(entries, from, to, found);
        break;
      }
      this.among(entries, from, first, found);
      this.among(entries, last, to, found);
      from = first / FANOUT;
      to = last / FANOUT;
    }
    return found;
  }
}

/** The first index of a sorted array whose value is not below `x`. */
export function lowerBound(xs, x, from = 0, to = xs.length) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (xs[middle] < x) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The same from an index on, where the place is expected to be near. */
function nextBound(xs, x, from) {
  let step = 1;
  while (from + step < xs.length && xs[from + step] < x) step *= 2;
  return lowerBound(xs, x, from, Math.min(from + step, xs.length));
}

/** A series: names, sorted times in seconds, values, and the pyramid over them. */
export class Series {
  constructor(name, xs, ys) {
    Object.assign(this, { name, xs, ys, pyramid: new Pyramid(ys) });
  }

  /** The indices [first, last) of the points in a range, and one more on each side. */
  within(from, to) {
    const first = lowerBound(this.xs, from);
    const last = lowerBound(this.xs, to, first);
    return [Math.max(first - 1, 0), Math.min(last + 1, this.xs.length)];
  }

  /** The index of the point nearest to `x`; -1 if there is none. */
  nearest(x) {
    const at = lowerBound(this.xs, x);
    if (at > 0 && (at === this.xs.length || x - this.xs[at - 1] < this.xs[at] - x)) return at - 1;
    return at < this.xs.length ? at : -1;
  }
}

/** The series between two times for a drawing of `columns` pixels: the times, then the values of
 * each series at these times. `undefined` has no point there, `null` a gap. */
export function visible(series, from, to, columns) {
  const spans = series.map(one => one.within(from, to));
  const isExact = spans.every(([first, last]) => last - first <= 2 * columns);
  return isExact ? exact(series, spans) : thinned(series, from, to, columns);
}

function exact(series, spans) {
  const all = spans.flatMap(([first, last], i) => Array.from(series[i].xs.subarray(first, last)));
  const sorted = Float64Array.from(all).sort();
  const times = sorted.filter((x, i) => i === 0 || x !== sorted[i - 1]);
  const columns = series.map((one, i) => {
    const values = new Array(times.length);
    let at = 0;
    for (let point = spans[i][0]; point < spans[i][1]; point++) {
      while (times[at] < one.xs[point]) at++;
      values[at] = Number.isNaN(one.ys[point]) ? null : one.ys[point];
    }
    return values;
  });
  return { isExact: true, data: [Array.from(times), ...columns] };
}

/** Each column of pixels has two times, at a quarter and three quarters of its width, so that all
 * series share them. Its extremes are drawn in the order in which they came. */
function thinned(series, from, to, columns) {
  const step = (to - from) / columns;
  const times = Array.from({ length: 2 * columns }, (_, i) => from + (i + 0.5) * step / 2);
  const drawn = series.map(one => {
    const values = new Array(2 * columns);
    let first = lowerBound(one.xs, from);
    for (let column = 0; column < columns; column++) {
      const last = nextBound(one.xs, from + (column + 1) * step, first);
      if (last > first) {
        const [least, greatest] = one.pyramid.extremes(first, last);
        const value = place => (place < 0 ? null : one.ys[place]);
        values[2 * column] = value(Math.min(least, greatest));
        values[2 * column + 1] = value(Math.max(least, greatest));
      }
      first = last;
    }
    return values;
  });
  return { isExact: false, data: [times, ...drawn] };
}

/** The rows of a table by name: for each name that has some, the numbers of its rows. */
export function rowsByName({ names, codes }) {
  const counts = new Uint32Array(names.length);
  for (const code of codes) counts[code]++;
  const places = Array.from(counts, count => new Uint32Array(count));
  counts.fill(0);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row];
    places[code][counts[code]++] = row;
  }
  const groups = names.map((name, code) => ({ name, rows: places[code] }));
  return groups.filter(({ name, rows }) => name !== null && rows.length > 0);
}

/** Amounts of intervals of a length, with a zero behind and before each pause: an interval without
 * any has no row. */
export function withPauses(times, values, length) {
  const [xs, ys] = [[], []];
  const add = (x, y) => {
    xs.push(x);
    ys.push(y);
  };
  for (let i = 0; i < times.length; i++) {
    const last = i > 0 ? times[i - 1] : -Infinity;
    if (i > 0 && times[i] - last > 1.5 * length) add(last + length, 0);
    if (times[i] - last > 2.5 * length) add(times[i] - length, 0);
    add(times[i], values[i]);
  }
  if (times.length > 0) add(times.at(-1) + length, 0);
  return [Float64Array.from(xs), Float64Array.from(ys)];
}

/** The values of some rows, times a factor. */
export function pick(values, rows, factor = 1) {
  const picked = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = values[rows[i]] * factor;
  return picked;
}

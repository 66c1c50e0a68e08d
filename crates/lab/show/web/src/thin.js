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

/** The places of a column without a point, and of one whose points are all gaps. */
export const NONE = -1;
export const GAP = -2;
/** Points for each column of pixels, in all series, of which lines are drawn. More of them take a
 * renderer without a GPU longer than a frame lasts. */
const LINES = 4;
/** Steps that differ by less are the same: the ends of a range that moves are rounded. */
const SAME = 1e-9;

/** The series between two times for a drawing of `columns` pixels. Where points are few: `data`,
 * which has the times, then the values of each series at these times (`undefined` has no point
 * there, `null` a gap). Else `thinned`, by columns, which has each point where no column has more
 * than two.
 *
 * Columns lie on a grid of whole steps. While a drawing moves, `before`, its last `thinned`, has
 * most of them. */
export function visible(series, from, to, columns, before = null) {
  const spans = series.map(one => one.within(from, to));
  const counts = spans.map(([first, last]) => last - first);
  const isExact = counts.every(count => count <= 2 * columns)
    && counts.reduce((sum, count) => sum + count, 0) <= LINES * columns;
  return isExact ? { isExact, data: exact(series, spans) }
    : { isExact, thinned: thinned(series, from, to, columns, before) };
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
  return [Array.from(times), ...columns];
}

/** Columns of a width of `step`, from the one that holds `from`. Each series in `places` has two
 * places in `here` for each of `count` columns: those of the extremes, in the order in which they
 * came; `values` has their values, and `isDense` marks more points than these. `shift` is the part
 * of the first column before `from`. */
function thinned(series, from, to, columns, before) {
  const own = (to - from) / columns;
  const step = before && Math.abs(before.step / own - 1) < SAME ? before.step : own;
  const first = Math.floor(from / step);
  const count = columns + 1;
  const places = new Map();
  for (const one of series) {
    const known = before?.places.get(one);
    const isKnown = known?.ys === one.ys && before.step === step && before.count === count;
    const of = isKnown ? known : { xs: one.xs, ys: one.ys, here: new Int32Array(2 * count),
      values: new Float64Array(2 * count), isDense: new Uint8Array(count) };
    const [begin, end] = isKnown ? moved(of, first - before.first, count) : [0, count];
    fill(of, one, first, step, begin, end);
    places.set(one, of);
  }
  const isEach = [...places.values()].every(({ isDense }) => !isDense.includes(1));
  return { step, first, count, shift: from / step - first, places, isEach };
}

/** Moves columns by `by` to the left. Returns which of them are missing. */
function moved({ here, values, isDense }, by, count) {
  if (Math.abs(by) >= count) return [0, count];
  isDense.copyWithin(Math.max(-by, 0), Math.max(by, 0));
  for (const of of [here, values]) of.copyWithin(Math.max(-2 * by, 0), Math.max(2 * by, 0));
  return by > 0 ? [count - by, count] : [0, -by];
}

/** Finds the extremes of the columns from `begin` to `end`. */
function fill({ here, values, isDense }, { xs, ys, pyramid }, first, step, begin, end) {
  let from = lowerBound(xs, (first + begin) * step);
  for (let column = begin; column < end; column++) {
    const to = nextBound(xs, (first + column + 1) * step, from);
    const [least, greatest] = to > from ? pyramid.extremes(from, to) : [NONE, NONE];
    const none = to > from ? GAP : NONE;
    isDense[column] = to - from > 2 ? 1 : 0;
    here[2 * column] = least < 0 ? none : Math.min(least, greatest);
    here[2 * column + 1] = least < 0 ? none : Math.max(least, greatest);
    for (const i of [2 * column, 2 * column + 1]) values[i] = here[i] < 0 ? NaN : ys[here[i]];
    from = to;
  }
}

/** The least and the greatest of the values of columns; infinite without any. */
export function extremesOf({ values }) {
  let [least, greatest] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    if (values[i] < least) least = values[i];
    if (values[i] > greatest) greatest = values[i];
  }
  return [least, greatest];
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

// Figures of a tool over time: series of bounded length for its graphs.

import { lowerBound, Pyramid, Series } from "../thin.js";
import { unitOf } from "../format.js";

/** Samples of a series that are kept, and series of a graph that are drawn. */
export const MOST_SAMPLES = 600;
export const MOST_SERIES = 16;
/** Keys that name the elements of a list. */
export const NAMES = ["name", "via", "station", "peer"];

/** The name of an element of a list: its own, or the number of its place. */
export function nameOf(element, place) {
  const key = NAMES.find(one => typeof element?.[one] === "string");
  return key ? element[key] : String(place + 1);
}

/** The figures of an object that are no lists, those of objects in it with both names. */
export function scalars(figures) {
  return Object.entries(figures ?? {}).flatMap(([key, value]) => {
    if (Array.isArray(value)) return [];
    if (value === null || typeof value !== "object") return [[key, value]];
    return scalars(value).map(([inner, of]) => [`${key}_${inner}`, of]);
  });
}

/** The lists of figures by their names, without empty ones and those of bare numbers. */
export function lists(figures) {
  return Object.entries(figures ?? {}).filter(([, value]) =>
    Array.isArray(value) && value.length > 0 && value[0] !== null && typeof value[0] === "object");
}

/** Seconds since a tool began, by its own clock; null where it has none. */
export function timeOf(figures) {
  const { seconds, lasted_s: lasted, at_s: at, at_ns: ns } = figures ?? {};
  return [seconds, lasted, at, typeof ns === "number" ? ns / 1e9 : null]
    .find(value => typeof value === "number") ?? null;
}

/** A series that grows. */
class Growing extends Series {
  constructor(name) {
    super(name, new Float64Array(0), new Float64Array(0));
  }

  add(x, y) {
    const longer = (values, value) => Float64Array.of(...values.slice(1 - MOST_SAMPLES), value);
    this.xs = longer(this.xs, x);
    this.ys = longer(this.ys, y);
    this.pyramid = new Pyramid(this.ys);
  }

  /** Drops the samples before a time. */
  drop(before) {
    const count = lowerBound(this.xs, before);
    if (count === 0) return;
    this.xs = this.xs.slice(count);
    this.ys = this.ys.slice(count);
    this.pyramid = new Pyramid(this.ys);
  }
}

/** The series of one graph. */
export class History {
  /** `graph` has a key of each element of a list, or keys of the figures themselves. */
  constructor(graph) {
    this.graph = graph;
    this.series = new Map();
    this.before = new Map();
    this.times = [];
    this.left = 0;
  }

  /** Adds figures at a time in seconds. A time that is no later than the last adds nothing. */
  add(figures, at) {
    if (at <= this.times.at(-1)) return;
    this.times = [...this.times.slice(1 - MOST_SAMPLES), at];
    this.left = 0;
    const values = this.values(figures);
    const present = new Set(values.map(([name]) => name));
    for (const [name, value] of values) {
      if (!this.series.has(name)) {
        if (this.series.size === MOST_SERIES) this.free(present);
        if (this.series.size === MOST_SERIES) {
          this.left++;
          continue;
        }
        this.series.set(name, new Growing(name));
      }
      this.series.get(name).add(at, this.shown(name, value, at));
    }
    for (const [name, series] of this.series) {
      series.drop(this.times[0]);
      if (series.xs.length === 0) this.remove(name);
    }
  }

  /** Removes the series that ended first, if one has ended. */
  free(present) {
    const ended = [...this.series.values()].filter(({ name }) => !present.has(name));
    ended.sort((a, b) => a.xs.at(-1) - b.xs.at(-1));
    if (ended.length > 0) this.remove(ended[0].name);
  }

  remove(name) {
    this.series.delete(name);
    this.before.delete(name);
  }

  /** The present value of each series. */
  values(figures) {
    const { list, key, keys } = this.graph;
    if (list) {
      return (figures[list] ?? []).map((one, i) =>
        [nameOf(one, i), new Map(scalars(one)).get(key)]);
    }
    const own = new Map(scalars(figures));
    return keys.map(one => [unitOf(one).words, own.get(one)]);
  }

  /** A value in the unit of the graph; that of a counter is its growth in a second. */
  shown(name, value, at) {
    const { factor = 1, isCounter = false } = this.graph;
    if (typeof value !== "number") return NaN;
    if (!isCounter) return value * factor;
    const before = this.before.get(name);
    this.before.set(name, { value, at });
    // A counter that is smaller than before began anew.
    if (!before || value < before.value) return NaN;
    return (value - before.value) / (at - before.at) * factor;
  }

  /** Whether some series has a value. */
  get hasValues() {
    return [...this.series.values()].some(({ ys }) => ys.some(value => !Number.isNaN(value)));
  }
}

// The range of time that all graphs of a page show.

/** A range within bounds. Whoever subscribes is called after each change. */
export class Range {
  constructor(from, to) {
    this.bounds = [from, Math.max(to, from + 1e-9)];
    [this.from, this.to] = this.bounds;
    this.listeners = new Set();
  }

  get isAll() {
    return this.from === this.bounds[0] && this.to === this.bounds[1];
  }

  /** Shows [from, to], moved into the bounds and no shorter than a billionth of them. */
  set(from, to) {
    const [low, high] = this.bounds;
    const length = Math.min(Math.max(to - from, (high - low) * 1e-9), high - low);
    // `high - length` of the whole length can differ from `low` by rounding.
    const isWhole = length === high - low;
    const start = isWhole ? low : Math.min(Math.max(from, low), high - length);
    const end = isWhole ? high : start + length;
    if (start === this.from && end === this.to) return;
    [this.from, this.to] = [start, end];
    for (const listener of this.listeners) listener(this);
  }

  /** Shows everything. */
  reset() {
    this.set(...this.bounds);
  }

  /** Shows a part of the length, such as 0.5, around `x`, which stays in its place. */
  zoom(part, x = (this.from + this.to) / 2) {
    this.set(x - (x - this.from) * part, x + (this.to - x) * part);
  }

  /** Moves by a part of the length. */
  pan(part) {
    const by = (this.to - this.from) * part;
    this.set(this.from + by, this.to + by);
  }

  /** Calls `listener` after each change. */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

// Thinning: what a drawing shows of a series.

import assert from "node:assert/strict";
import test from "node:test";
import {
  extremesOf, GAP, lowerBound, pick, Pyramid, rowsByName, Series, visible, withPauses,
} from "../src/thin.js";

/** A sequence of numbers that looks random and is the same in each run (Park and Miller, 1988). */
function noise(count) {
  let state = 1;
  return Float64Array.from({ length: count }, () => (state = state * 48271 % 2147483647) % 1000);
}

test("a pyramid finds the extremes of any range", () => {
  const values = noise(5000);
  values[1234] = NaN;
  const pyramid = new Pyramid(values);
  for (let from = 0; from < 5000; from += 61) {
    for (const to of [from + 1, from + 15, from + 16, from + 250, from + 4000]) {
      const end = Math.min(to, 5000);
      const here = values.slice(from, end).filter(value => !Number.isNaN(value));
      const [least, greatest] = pyramid.extremes(from, end).map(place => values[place]);
      const none = [undefined, undefined];
      const expected = here.length ? [Math.min(...here), Math.max(...here)] : none;
      assert.deepEqual([least, greatest], expected, `${from} to ${end}`);
    }
  }
});

test("a range without a value has no extremes", () => {
  assert.deepEqual(new Pyramid(Float64Array.of(1, NaN, 2)).extremes(1, 2), [-1, -1]);
  assert.deepEqual(new Pyramid(new Float64Array(0)).extremes(0, 0), [-1, -1]);
});

test("seen from afar a lonely peak is there, and close by each point", () => {
  const times = Float64Array.from({ length: 1e6 }, (_, i) => i * 1e-3);
  const values = new Float64Array(1e6);
  values[765432] = 99;
  const series = [new Series("a", times, values)];
  const far = visible(series, 0, 1000, 500);
  assert.equal(far.isExact, false);
  const { here, values: drawn } = far.thinned.places.get(series[0]);
  assert.ok(here.length <= 1002);
  assert.deepEqual([extremesOf({ values: drawn }), here.includes(765432)], [[0, 99], true]);
  const near = visible(series, 765.4, 765.5, 500);
  assert.equal(near.isExact, true);
  assert.equal(near.data[1][near.data[0].indexOf(765.432)], 99);
  assert.equal(near.data[0].length, 102, "100 steps in the range and a neighbour on each side");
});

test("a drawing that moves has the columns of one that did not", () => {
  const times = Float64Array.from({ length: 40_000 }, (_, i) => i * 1e-3 + i % 3 * 1e-4);
  const values = noise(40_000);
  values.fill(NaN, 9000, 9300);
  const series = [new Series("a", times, values)];
  let kept = null;
  let from = 3.003;
  for (const by of [0, 0.1, 0.07, -0.3, 0.003, 5, -7, -0.0001, 0.5]) {
    from += by;
    kept = visible(series, from, from + 10, 333, kept).thinned;
    const { first, step, count, places } = kept;
    const { here } = places.get(series[0]);
    const inside = here.filter(place => place >= 0);
    assert.ok(inside.every((place, i) => i === 0 || place >= inside[i - 1]), "in order of time");
    assert.ok(first * step <= from && (first + count) * step >= from + 10, "all is covered");
    for (let column = 0; column < count; column++) {
      const ends = [first + column, first + column + 1].map(one => lowerBound(times, one * step));
      assert.equal(places.get(series[0]).isDense[column], ends[1] - ends[0] > 2 ? 1 : 0);
      const known = values.slice(...ends).filter(value => !Number.isNaN(value));
      const found = [here[2 * column], here[2 * column + 1]];
      if (known.length === 0) assert.deepEqual(found, [GAP, GAP]);
      else {
        const drawn = found.map(place => values[place]).sort((a, b) => a - b);
        assert.deepEqual(drawn, [Math.min(...known), Math.max(...known)], `${from}, ${column}`);
      }
    }
  }
});

test("columns of two points at most have each point of many series", () => {
  const times = Float64Array.from({ length: 900 }, (_, i) => i + 0.5);
  const series = Array.from({ length: 8 }, (_, i) => new Series(String(i), times, noise(900)));
  const { isExact, thinned } = visible(series, 0, 900, 450);
  assert.deepEqual([isExact, thinned.isEach], [false, true]);
  const { values } = thinned.places.get(series[7]);
  times.forEach((time, i) => {
    const column = Math.floor(time / thinned.step);
    assert.ok(values.subarray(2 * column, 2 * column + 2).includes(series[7].ys[i]), `at ${time}`);
  });
  assert.equal(visible(series, 0, 900, 299).thinned.isEach, false);
  assert.ok(visible(series.slice(0, 2), 0, 900, 450).isExact, "lines of few series");
});

test("series with times of their own share an axis", () => {
  const a = new Series("a", Float64Array.of(0, 2, 4), Float64Array.of(1, 2, 3));
  const b = new Series("b", Float64Array.of(1, 2), Float64Array.of(5, NaN));
  const { data } = visible([a, b], 0, 4, 100);
  assert.deepEqual(data[0], [0, 1, 2, 4]);
  assert.deepEqual([...data[1]], [1, undefined, 2, 3]);
  assert.deepEqual([...data[2]], [undefined, 5, null, undefined], "null is a gap");
});

test("the nearest point is found on both sides", () => {
  const series = new Series("a", Float64Array.of(0, 10, 20), Float64Array.of(1, 2, 3));
  assert.deepEqual([-5, 4, 6, 99].map(x => series.nearest(x)), [0, 0, 1, 2]);
  assert.equal(lowerBound(series.xs, 10), 1);
  assert.equal(new Series("b", new Float64Array(0), new Float64Array(0)).nearest(1), -1);
});

test("a pause between intervals is at zero", () => {
  const [xs, ys] = withPauses([5, 6, 8, 20], [1, 2, 3, 4], 1);
  assert.deepEqual([...xs], [4, 5, 6, 7, 8, 9, 19, 20, 21]);
  assert.deepEqual([...ys], [0, 1, 2, 0, 3, 0, 0, 4, 0]);
  assert.equal(withPauses([], [], 1)[0].length, 0);
});

test("rows are parted by name", () => {
  const groups = rowsByName({ names: [null, "a", "b", "c"], codes: Uint32Array.of(1, 0, 3, 1) });
  assert.deepEqual(groups.map(({ name, rows }) => [name, [...rows]]), [["a", [0, 3]], ["c", [2]]]);
  assert.deepEqual([...pick(Float64Array.of(1, 2, 3, 4), groups[0].rows, 10)], [10, 40]);
});

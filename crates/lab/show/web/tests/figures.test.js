// The data of a report's figures, as the command writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { numbers, seriesOf } from "../src/figures/series.js";

test("numbers are sums of differences, in units of their last place", () => {
  assert.deepEqual([...numbers([2, 0, 150, -25])], [0, 1.5, 1.25]);
  assert.deepEqual([...numbers([-3, 3, 1])], [3000, 4000]);
  assert.deepEqual([...numbers([-9])], []);
});

test("points are sorted, and their extent has their intervals", () => {
  const one = { label: "a", form: "dots", x: [0, 2, -1], y: [0, 5, 1], low: [0, 4, 1],
    high: [0, 9, 1] };
  const series = seriesOf(one, { series: [one] });
  assert.deepEqual([[...series.xs], [...series.ys]], [[1, 2], [6, 5]]);
  assert.deepEqual(series.extent(0, 3), [4, 10]);
  assert.equal(series.text(1), "5 (4 to 9)");
});

test("a column is read anywhere in its group", () => {
  const one = { label: "a", form: "columns", x: [0, 0, 2], y: [0, 5, 1] };
  const series = seriesOf(one, { series: [one, { ...one }] });
  assert.equal(series.nearest(0.3), 0);
  assert.equal(series.nearest(1), -1);
  assert.equal(series.nearest(1.6), 1);
});

test("a span counts from its begin on", () => {
  const one = { label: "a", form: "steps", x: [0, 0, 10], y: [0, 3, 1], to: [0, 5, 10] };
  const series = seriesOf(one, { series: [one] });
  assert.equal(series.nearest(7), 0);
  assert.equal(series.nearest(10), 1);
  assert.deepEqual(series.extent(0, 5), [3, 4]);
  assert.deepEqual(series.ends(), [0, 15]);
});

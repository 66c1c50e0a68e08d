// The range of time that graphs share.

import assert from "node:assert/strict";
import test from "node:test";
import { Range } from "../src/range.js";

test("zooming keeps a place, and moving keeps the length", () => {
  const range = new Range(0, 100);
  range.zoom(0.5, 20);
  assert.deepEqual([range.from, range.to], [10, 60]);
  range.pan(0.5);
  assert.deepEqual([range.from, range.to], [35, 85]);
  range.pan(10);
  assert.deepEqual([range.from, range.to], [50, 100], "the bounds stop it");
  range.zoom(100);
  assert.ok(range.isAll);
});

test("a listener hears of changes alone", () => {
  const range = new Range(0, 10);
  let calls = 0;
  const stop = range.subscribe(() => calls++);
  range.set(2, 4);
  range.set(2, 4);
  range.reset();
  assert.equal(calls, 2);
  stop();
  range.set(1, 2);
  assert.equal(calls, 2);
});

test("a range has a length", () => {
  const range = new Range(0, 1);
  range.set(0.5, 0.5);
  assert.ok(range.to > range.from);
  assert.ok(new Range(3, 3).to > 3);
});

test("all is shown again where the bounds are no round numbers", () => {
  for (let low = 0.1; low < 3; low += 0.1) {
    const range = new Range(low, low * 7 + 0.3);
    range.zoom(0.5);
    range.reset();
    assert.ok(range.isAll, `${range.bounds}`);
  }
});

// Columns of pixels that stand for many points.

import assert from "node:assert/strict";
import { test } from "node:test";
import { columns } from "../src/columns.js";

const filled = values => {
  const found = [];
  columns(values, values.length / 2, y => y, (...span) => found.push(span));
  return found;
};

test("neighbours touch, also where their values do not meet", () => {
  assert.deepEqual(filled([1, 3, 6, 8]), [[0, 1, 3], [1, 3, 8]]);
  assert.deepEqual(filled([6, 8, 3, 1]), [[0, 6, 8], [1, 1, 6]]);
});

test("a line joins columns with others between them", () => {
  const none = [undefined, undefined];
  assert.deepEqual(filled([0, 0, ...none, 4, 5]), [[0, 0, 0], [1, 1, 3], [2, 4, 5]]);
});

test("a gap is not joined", () => {
  assert.deepEqual(filled([1, 1, null, null, 5, 5]), [[0, 1, 1], [2, 5, 5]]);
});

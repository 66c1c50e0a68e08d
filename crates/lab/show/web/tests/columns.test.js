// Columns of pixels that stand for many points.

import assert from "node:assert/strict";
import { test } from "node:test";
import { columns } from "../src/columns.js";
import { GAP, NONE } from "../src/thin.js";

/** The filled columns of values, of which some are missing by a code. */
const filled = values => {
  const found = [];
  columns(Int32Array.from(values), i => values[i], (...span) => found.push(span));
  return found;
};

test("neighbours touch, also where their values do not meet", () => {
  assert.deepEqual(filled([1, 3, 6, 8]), [[0, 1, 3], [1, 3, 8]]);
  assert.deepEqual(filled([6, 8, 3, 1]), [[0, 6, 8], [1, 1, 6]]);
});

test("a line joins columns with others between them", () => {
  const none = [NONE, NONE];
  assert.deepEqual(filled([0, 0, ...none, 4, 5]), [[0, 0, 0], [1, 1, 3], [2, 4, 5]]);
});

test("a gap is not joined", () => {
  assert.deepEqual(filled([1, 1, GAP, GAP, 5, 5]), [[0, 1, 1], [2, 5, 5]]);
});

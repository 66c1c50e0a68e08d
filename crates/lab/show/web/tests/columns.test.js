// Columns of pixels that stand for many points.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Columns, columns } from "../src/columns.js";
import { look } from "../src/theme.js";
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

/** The pixels of a level line with these dashes, in one row of 40 pixels from `first` on, and those
 * of an upright line of 40 pixels. */
function drawn(dash, first = 0) {
  const { ImageData, OffscreenCanvas, devicePixelRatio } = globalThis;
  Object.assign(globalThis, {
    devicePixelRatio: 1,
    ImageData: class {
      constructor(width, height) {
        Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
      }
    },
    OffscreenCanvas: class {
      getContext() {
        return { putImageData() {} };
      }
    },
  });
  try {
    const picture = new Columns();
    const paint = (lows, highs) => {
      const places = lows.flatMap((_, i) => [2 * i, 2 * i + 1]);
      const values = lows.flatMap((low, i) => [low, highs[i]]);
      picture.paint({ bbox: { left: 0, top: 0, width: 40, height: 40 }, ctx: { drawImage() {} },
        scales: { y: { min: 0, max: 39 } } }, { count: 41, shift: 0, first },
      [{ colour: "#0b62c4", dash, here: Int32Array.from(places), values }]);
      return Array.from(picture.pixels, pixel => (pixel ? 1 : 0));
    };
    const level = new Array(41).fill(20);
    const row = paint(level, level).slice(40 * 19, 40 * 20);
    const upright = paint(level.map(() => 0), level.map(() => 39));
    return { row, column: upright.filter((_, i) => i % 40 === 0) };
  } finally {
    Object.assign(globalThis, { ImageData, OffscreenCanvas, devicePixelRatio });
  }
}

test("columns have the dashes of their series, along and across", () => {
  const looks = [0, 8, 16, 24].map(index => drawn(look(index).dash));
  const all = new Array(40).fill(1);
  assert.deepEqual(looks[0], { row: all, column: all });
  for (const way of ["row", "column"]) {
    const different = new Set(looks.map(one => one[way].join("")));
    assert.equal(different.size, 4, way);
    const parts = looks.map(one => one[way].reduce((sum, pixel) => sum + pixel) / 40);
    assert.ok(parts.every(part => part >= 0.3), `${way}: ${parts}`);
  }
});

test("dashes move with the data", () => {
  const { dash } = look(8);
  const [before, after] = [drawn(dash), drawn(dash, 5)];
  assert.deepEqual(after.row.slice(0, 35), before.row.slice(5));
});

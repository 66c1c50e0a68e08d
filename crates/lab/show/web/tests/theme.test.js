// Colours and dashes of series.

import assert from "node:assert/strict";
import { test } from "node:test";
import { swatch } from "../src/theme.js";

/** Names of classes and style of the entry of a series in a legend. */
function shown(index, isShown) {
  const classes = new Set();
  const toggle = (name, isThere) => isThere && classes.add(name);
  const element = { classList: { toggle }, style: {} };
  swatch(element, index, isShown);
  return [[...classes], element.style];
}

test("a legend tells 32 series apart", () => {
  const looks = Array.from({ length: 32 }, (_, index) => JSON.stringify(shown(index)));
  assert.equal(new Set(looks).size, 32);
});

test("a hidden series is fainter", () => {
  for (const index of [0, 8]) assert.notDeepEqual(shown(index, false), shown(index, true));
});

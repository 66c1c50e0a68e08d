// Commands that make what the page makes.

import assert from "node:assert/strict";
import test from "node:test";
import { Files, firstOf } from "../src/lab/command.js";

const files = new Files({
  catalogue: [{ name: "scenarios/a.toml", text: "x = 1" }],
  studies: { "studies/b/c.toml": "y = 2" },
});

test("a text that a file has needs not be saved", () => {
  assert.equal(files.unsaved({ file: "scenarios/a.toml", text: "x = 1" }), null);
  assert.equal(files.unsaved({ file: "studies/b/c.toml", text: "y = 2" }), null);
  assert.equal(firstOf({ savedAs: null }), "");
});

test("an edited text, and one of a link, are saved before a command reads them", () => {
  assert.equal(files.unsaved({ file: "scenarios/a.toml", text: "x = 2" }), "a.toml");
  assert.equal(files.unsaved({ file: "studies/b/c.toml", text: "x = 1" }), "c.toml");
  assert.equal(files.unsaved({ file: "shared.toml", text: "x = 1" }), "shared.toml");
  assert.match(firstOf({ savedAs: "a.toml" }), /save the scenario first, as a\.toml/);
});

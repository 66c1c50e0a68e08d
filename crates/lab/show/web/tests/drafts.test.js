// Scenarios that the reader changed.

import assert from "node:assert/strict";
import test from "node:test";
import { Drafts } from "../src/lab/drafts.js";

const state = { file: "a.toml", text: "x = 1", settings: [], seed: null };

test("a scenario as it was opened is no draft", () => {
  const drafts = new Drafts();
  drafts.enter("a.toml", state);
  assert.equal(drafts.leave({ ...state, seed: 3 }), null);
});

test("changed texts and settings become drafts, each with a name", () => {
  const drafts = new Drafts();
  const names = ["x = 2", "x = 3"].map(text => {
    drafts.enter("a.toml", state);
    return drafts.leave({ ...state, text });
  });
  drafts.enter("a.toml", state);
  names.push(drafts.leave({ ...state, settings: ["x=4"] }));
  assert.deepEqual(names, ["a.toml, changed", "a.toml, changed 2", "a.toml, changed 3"]);
  assert.deepEqual(names.map(name => drafts.get(name).text), ["x = 2", "x = 3", "x = 1"]);
});

test("a draft that is changed again stays one", () => {
  const drafts = new Drafts();
  drafts.enter("a.toml", state);
  const name = drafts.leave({ ...state, text: "x = 2" });
  drafts.enter(name, drafts.get(name));
  assert.equal(drafts.leave({ ...state, text: "x = 3" }), null);
  assert.equal(drafts.get(name).text, "x = 3");
});

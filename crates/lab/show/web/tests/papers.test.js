// The descriptions of the tours: each claim has an experiment or a reason, and each file is there.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { PAPERS } from "../src/lab/papers/index.js";

const ROOT = new URL("../../../../../", import.meta.url);

/** Ids in the first table of claims of a study's page. */
function judged(study) {
  const page = readFileSync(new URL(`results/studies/${study}.md`, ROOT), "utf8");
  const [, section] = page.split("## Claims\n");
  return section.split("\n## ")[0].match(/^\| [A-Z]+-\d+ /gm).map(start => start.slice(2, -1));
}

test("each judged claim has an experiment or a reason, and no other has", () => {
  for (const { studies, experiments, untried } of PAPERS) {
    const shown = new Set(experiments.flatMap(({ claims }) => Object.keys(claims)));
    for (const id of Object.keys(untried)) {
      assert.ok(!shown.has(id), `${id} has an experiment and a reason`);
      shown.add(id);
    }
    assert.deepEqual([...shown].sort(), studies.flatMap(judged).sort());
  }
});

test("claims choose steps that exist, and steps differ", () => {
  for (const { experiments } of PAPERS) {
    assert.equal(new Set(experiments.map(({ name }) => name)).size, experiments.length);
    for (const { name, claims, sliders } of experiments) {
      for (const positions of [...Object.values(claims), sliders.map(({ first }) => first)]) {
        assert.equal(positions.length, sliders.length, name);
        positions.forEach((at, i) => assert.ok(sliders[i].steps[at], `${name}: ${positions}`));
      }
      for (const { label, steps } of sliders) {
        const kinds = steps.map(({ file, settings }) => [file, ...settings].join());
        assert.equal(new Set(kinds).size, steps.length, label);
      }
    }
  }
});

test("the scenarios are there", () => {
  for (const { experiments } of PAPERS) {
    for (const { file, sliders } of experiments) {
      const files = sliders.flatMap(({ steps }) => steps.map(step => step.file ?? file));
      for (const one of files) assert.ok(existsSync(new URL(one, ROOT)), one);
    }
  }
});

// Runs each scenario of the catalogue by the module and by the command, and compares the files of
// both byte by byte. Only the description of the machine in meta.json may differ.
//
//   node crates/wasm/tests/same.js fairwave.wasm target/release/fairwave [SCENARIO...]
//
// A scenario is shortened to a few seconds where that leaves it valid; `FULL=1` runs all of it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Fairwave } from "../../lab/show/web/src/lab/module.js";

const SHORT = ["duration=5 s", "warm_up=1 s"];
const [module, program, ...named] = process.argv.slice(2);
const all = readdirSync("scenarios").filter(name => name.endsWith(".toml")).sort();
const scenarios = named.length ? named : all.map(name => `scenarios/${name}`);
assert.ok(scenarios.length > 0, "there are scenarios");
const fairwave = await Fairwave.load(readFileSync(module));
const place = mkdtempSync(join(tmpdir(), "fairwave-same-"));
const machine = ["architecture", "system", "kernel"];

/** The request that this scenario is run by, and its plan; null if a browser cannot run it. */
function planned(file) {
  const text = readFileSync(file, "utf8");
  const choices = process.env.FULL ? [[]] : [SHORT, SHORT.slice(0, 1), []];
  for (const settings of choices) {
    const request = { file, text, settings, point: 0 };
    const { answer } = fairwave.plan(request);
    if (answer.plan) return { request, plan: answer.plan };
    if (settings.length === 0) {
      assert.match(answer.refused.text, /operation not supported/, `${file} needs a file`);
    }
  }
  return null;
}

/** What may not differ in a file. */
function content(name, bytes) {
  if (name !== "meta.json") return Buffer.from(bytes);
  const meta = JSON.parse(Buffer.from(bytes).toString());
  for (const key of machine) delete meta[key];
  return meta;
}

/** Runs a scenario on both; the seconds that each took. */
function compare(file, { request, plan }) {
  const { command, seconds } = plan.points[0];
  let reports = 0;
  const begun = performance.now();
  const { answer, files } = fairwave.run(request, () => { reports++; });
  const between = performance.now();
  assert.ok(answer.run, `${file}: ${answer.refused?.text}`);
  assert.ok(reports > 0, `${file}: its progress is reported`);
  const out = join(place, file.replaceAll("/", "-"));
  const line = command.replace("fairwave", `'${resolve(program)}'`);
  execFileSync("sh", ["-c", `${line} --quiet --out '${out}'`], { stdio: ["ignore", "ignore", 2] });
  const took = [(between - begun) / 1e3, (performance.now() - between) / 1e3];
  assert.deepEqual(files.map(({ name }) => name), readdirSync(out).sort(), `${file}: the files`);
  for (const { name, bytes } of files) {
    const native = content(name, readFileSync(join(out, name)));
    assert.deepEqual(content(name, bytes), native, `${file}: ${name}`);
  }
  rmSync(out, { recursive: true });
  return { seconds, took };
}

let left = 0;
for (const file of scenarios) {
  const found = planned(file);
  if (!found) {
    left++;
    continue;
  }
  const { seconds, took: [browser, native] } = compare(file, found);
  const speeds = [browser, native].map(took => (seconds / took).toFixed(1));
  process.stdout.write(`${file}: same, ${seconds} s; simulated seconds a second: `
    + `module ${speeds[0]}, command ${speeds[1]}\n`);
}
rmSync(place, { recursive: true });
assert.ok(left < scenarios.length / 4, `${left} scenarios need files`);
process.stdout.write(`${scenarios.length - left} same, ${left} need files\n`);

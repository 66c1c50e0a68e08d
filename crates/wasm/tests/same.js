// Runs each scenario of the catalogue by the module and by the command, and compares the files of
// both byte by byte, as well as a sweep's table of means. Only the description of the machine in
// meta.json may differ.
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
import { jobsOf, packed } from "../../lab/show/web/src/lab/points.js";

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

/** Runs a scenario on both; the simulated seconds of each in a second of CPU, since other programs
 * of a loaded machine take turns with a run, and a process takes time to begin. */
function compare(file, { request, plan }) {
  const { command, seconds } = plan.points[0];
  let reports = 0;
  const begun = process.cpuUsage();
  const { answer, files } = fairwave.run(request, () => { reports++; });
  const { user, system } = process.cpuUsage(begun);
  assert.ok(answer.run, `${file}: ${answer.refused?.text}`);
  assert.ok(reports > 0, `${file}: its progress is reported`);
  const out = join(place, file.replaceAll("/", "-"));
  const line = command.replace("fairwave", `'${resolve(program)}'`);
  const said = execFileSync("sh", ["-c", `${line} --quiet --out '${out}'`],
    { stdio: ["ignore", "pipe", 2], encoding: "utf8" });
  const own = / s: ([\d.]+) simulated s /.exec(said)?.[1];
  assert.ok(own, `${file}: the command prints its speed: ${said}`);
  assert.deepEqual(files.map(({ name }) => name), readdirSync(out).sort(), `${file}: the files`);
  for (const { name, bytes } of files) {
    const native = content(name, readFileSync(join(out, name)));
    assert.deepEqual(content(name, bytes), native, `${file}: ${name}`);
  }
  rmSync(out, { recursive: true });
  return { seconds, speeds: [(seconds * 1e6 / (user + system)).toFixed(1), own] };
}

/** The means of a sweep, which the page and the command print as CSV: byte by byte. */
function compareSweep(file, settings, seeds) {
  const text = readFileSync(file, "utf8");
  const request = { file, text, settings };
  const { points, sweep } = fairwave.plan(request).answer.plan;
  const found = jobsOf(points, seeds).map(job => {
    const { point, seed } = job;
    const { answer } = fairwave.run({ ...request, point, seed, only_figures: true });
    return { job, figures: answer.figures };
  });
  const { answer: { means } } = fairwave.means(packed(found));
  const line = sweep.replace("fairwave", `'${resolve(program)}'`);
  const out = join(place, "sweep");
  const csv = execFileSync("sh", ["-c",
    `${line} --set sweep.seeds=${seeds} --quiet --csv --out '${out}'`],
  { stdio: ["ignore", "pipe", 2], encoding: "utf8" });
  assert.equal(means.csv, csv, `${file}: the sweep's table`);
  process.stdout.write(`${file}: same means of ${points.length} points with ${seeds} seeds\n`);
}

if (named.length === 0) compareSweep("scenarios/rate-anomaly.toml", SHORT, 3);
let left = 0;
for (const file of scenarios) {
  const found = planned(file);
  if (!found) {
    left++;
    continue;
  }
  const { seconds, speeds: [here, native] } = compare(file, found);
  process.stdout.write(`${file}: same, ${seconds} s; simulated seconds in one of CPU: `
    + `module ${here}, command ${native}\n`);
}
rmSync(place, { recursive: true });
assert.ok(left < scenarios.length / 4, `${left} scenarios need files`);
process.stdout.write(`${scenarios.length - left} same, ${left} need files\n`);

// Uses the assembled package as another program would: its README's example, errors, and types.
//
//   node test.mjs, in a directory that has the package in node_modules

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import * as fairwave from "fairwave";
import { arrowTable } from "fairwave/arrow";

const own = new URL(import.meta.resolve("fairwave"));
const textOf = name => readFileSync(new URL(name, own), "utf8");
const scenario = textOf("README.md").match(/const scenario = `([^`]*)`/)[1];

// npm always packs these two, and of the others what the list names.
const packed = [...JSON.parse(textOf("package.json")).files, "package.json", "README.md"];
assert.deepEqual(packed.sort(), readdirSync(new URL(".", own)).sort());

// A module that cannot be loaded does not prevent the next attempt.
await assert.rejects(fairwave.load(new Uint8Array([1])), WebAssembly.CompileError);

const seen = [];
const progress = fraction => { seen.push(fraction); };
const options = { seed: 1, settings: ["node.sta.count=8"], progress };
const result = await fairwave.run(scenario, options);
assert.equal(result.summary.flows.length, 8);
assert.match(result.answer[0], /^8 flows with /);
assert.ok(seen.length > 0 && seen.at(-1) === 1, `${seen}`);
const { t_ns: times, flow, goodput_bps: rates } = await result.table("flows");
assert.ok(times.length > 8 && times.length === flow.length && rates.length === flow.length);
assert.deepEqual([...new Set(flow)].sort(), result.summary.flows.map(({ name }) => name).sort());

const flows = tableFromIPC(tableToIPC(await arrowTable(result, "flows"), "file"));
assert.equal(flows.numRows, times.length);
assert.deepEqual(flows.schema.names, Object.keys(await result.table("flows")));
assert.deepEqual(Array.from(flows.getChild("t_ns"), Number), Array.from(times));
assert.deepEqual(Array.from(flows.getChild("flow")), flow);
const [srtt, known] = [flows.getChild("srtt_ns"), (await result.table("flows")).srtt_ns];
assert.ok(srtt.nullCount > 0 && srtt.nullCount === known.filter(Number.isNaN).length);
assert.equal(typeof flows.getChild("t_ns").get(0), "bigint");
assert.equal(flows.schema.fields.find(({ name }) => name === "t_ns").metadata.get("unit"),
  "nanoseconds");
for (const name of result.files.keys()) {
  const table = /^(.*)\.parquet$/.exec(name)?.[1];
  if (table) assert.ok((await arrowTable(result, table)).numCols > 0, table);
}
await assert.rejects(arrowTable(result, "nothing"), /has no table nothing/);

const again = await fairwave.run(scenario, options);
assert.deepEqual(again.files, result.files);
await assert.rejects(result.table("nothing"), /has no table nothing/);

const plan = await fairwave.plan(`${scenario}\n[sweep]\n"node.sta.count" = [1, 2]\n`);
assert.deepEqual(plan.points.map(({ label }) => label), ["node.sta.count = 1", "node.sta.count = 2"]);

const parts = [];
const means = await fairwave.sweep(`${scenario}\n[sweep]\n"node.sta.count" = [1, 2]\n`,
  { settings: ["duration=2 s"], seeds: 2, progress: part => { parts.push(part); } });
assert.deepEqual(means.points.map(({ axes, seeds }) => [axes["node.sta.count"], seeds]),
  [["1", [1, 2]], ["2", [1, 2]]]);
assert.ok(means.points.every(({ metrics }) => metrics.goodput_mbps.mean > 0));
assert.match(means.csv, /^node\.sta\.count,metric,runs,mean,low,high,std_dev\r\n1,goodput_mbps,/);
assert.ok(parts.at(-1) === 1 && parts.every((part, i) => i === 0 || part >= parts[i - 1]));

await assert.rejects(fairwave.run(scenario.replace("duration", "duratoin")), error => {
  assert.ok(error instanceof fairwave.ScenarioError);
  assert.equal(error.diagnostics[0].nearest, "duration");
  return /did you mean "duration"/.test(error.message);
});
await assert.rejects(fairwave.run(scenario, { progress: () => false }), /interrupted/);

const types = textOf("index.d.ts");
for (const name of Object.keys(fairwave)) {
  assert.match(types, new RegExp(`export (function|class) ${name}\\b`), `${name} has a type`);
}
for (const [type, value] of [["Run", result], ["Plan", plan], ["Point", plan.points[0]],
  ["Means", means], ["MeanPoint", means.points[0]],
  ["Mean", means.points[0].metrics.goodput_mbps]]) {
  const [, body] = types.match(new RegExp(`export interface ${type} \\{([^}]*)\\}`));
  const declared = [...body.matchAll(/^ {2}(\w+)[(:]/gm)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.keys(value).sort(), `${type} is as declared`);
}
process.stdout.write("npm package: good\n");

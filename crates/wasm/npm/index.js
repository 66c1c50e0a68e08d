// Fairwave for Node and browsers: plans and runs of scenarios.

import { Fairwave } from "./module.js";
import { Table } from "./parquet.js";
import { jobsOf, packed } from "./points.js";

const WASM = new URL("./fairwave.wasm", import.meta.url);
let loaded = null;

/** A scenario that is wrong, or a run that failed; `diagnostics` has the places. */
export class ScenarioError extends Error {
  constructor({ text, diagnostics }) {
    super(text);
    this.name = "ScenarioError";
    this.diagnostics = diagnostics;
  }
}

/** Compiles the module, once; after a failure the next call tries again. `source` has its bytes, or
 * a response with them. */
export function load(source) {
  loaded ??= bytesOf(source).then(bytes => Fairwave.load(bytes)).catch(error => {
    loaded = null;
    throw error;
  });
  return loaded;
}

async function bytesOf(source) {
  const found = await source;
  if (found instanceof Response) return found.arrayBuffer();
  if (found) return found;
  if (WASM.protocol !== "file:") return (await fetch(WASM)).arrayBuffer();
  const { readFile } = await import("node:fs/promises");
  return readFile(WASM);
}

function requestOf(text, { seed = null, settings = [], point = 0, file = "scenario.toml" }) {
  return { file, text, settings, seed, point };
}

/** The points of a scenario's sweep. */
export async function plan(text, options = {}) {
  const { answer } = (await load()).plan(requestOf(text, options));
  if (answer.refused) throw new ScenarioError(answer.refused);
  return answer.plan;
}

/** Makes a run. */
export async function run(text, options = {}) {
  const fairwave = await load();
  const { answer, files } = fairwave.run(requestOf(text, options), options.progress);
  if (answer.refused) throw new ScenarioError(answer.refused);
  const byName = new Map(files.map(({ name, bytes }) => [name, bytes]));
  const summary = JSON.parse(new TextDecoder().decode(byName.get("summary.json")));
  return { answer: answer.run.page.answer, summary, files: byName,
    table: name => columnsOf(byName.get(`${name}.parquet`), name) };
}

/** Makes the runs of all points with some seeds, and computes means over the seeds. */
export async function sweep(text, options = {}) {
  const { points, seeds } = await plan(text, options);
  const fairwave = await load();
  const jobs = jobsOf(points, options.seeds ?? seeds);
  const found = jobs.map((job, i) => {
    const progress = part => options.progress?.((i + part) / jobs.length);
    const request = { ...requestOf(text, { ...options, ...job }), only_figures: true };
    const { answer } = fairwave.run(request, progress);
    if (answer.refused) throw new ScenarioError(answer.refused);
    return { job, figures: answer.figures };
  });
  return fairwave.means(packed(found)).answer.means;
}

/** The columns of a table: numbers as Float64Array (NaN for null), texts as arrays. */
async function columnsOf(bytes, name) {
  if (!bytes) throw new Error(`the run has no table ${name}`);
  const table = new Table(bytes);
  const columns = {};
  for (const column of table.columns) {
    if (!column.isText) {
      columns[column.name] = await table.numbers(column.name);
      continue;
    }
    const { names, codes } = await table.names(column.name);
    columns[column.name] = Array.from(codes, code => names[code]);
  }
  return columns;
}

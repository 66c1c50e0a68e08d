// Uses the package as a program in TypeScript would. It is checked, and never run.

import { load, plan, run, ScenarioError, sweep } from "fairwave";
import type { Columns, Means, Plan, Run } from "fairwave";
import { arrowTable } from "fairwave/arrow";
import type { Table } from "apache-arrow";

async function uses(text: string): Promise<number> {
  await load(new Uint8Array());
  const planned: Plan = await plan(text, { seed: 1 });
  const labels: string[] = planned.points.map(({ label }) => label);
  const result: Run = await run(text, {
    settings: labels, point: 0, file: "home.toml", progress: fraction => fraction < 0.5,
  });
  const { points }: Means = await sweep(text, { seeds: 3, progress: () => {} });
  const half: number = points[0]?.metrics["goodput_mbps"]?.half_width ?? 0;
  const columns: Columns = await result.table("flows");
  const rates = columns.goodput_bps;
  const table: Table = await arrowTable(result, "flows");
  const bytes: Uint8Array | undefined = result.files.get("summary.json");
  return half + (rates?.length ?? 0) + table.numRows + (bytes?.length ?? 0);
}

async function misuses(text: string): Promise<void> {
  // @ts-expect-error A seed is a number.
  await run(text, { seed: "1" });
  // @ts-expect-error There is no such option.
  await plan(text, { seeds: 1 });
  // @ts-expect-error A table is named.
  await arrowTable(await run(text));
  // @ts-expect-error Points are an array.
  (await plan(text)).points.label;
}

function places(error: unknown): number[] {
  return error instanceof ScenarioError ? error.diagnostics.map(({ line }) => line) : [];
}

export { misuses, places, uses };

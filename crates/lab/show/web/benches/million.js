// Time to the first figure of a page, and frames a second while its graphs move, in Chromium.
//
//   fairwave run scenarios/up-and-down.toml --set cell.errors.data=0 \
//     --set tcp.congestion_control=compound --sample-every '2 ms' --out out/million
//   fairwave show out/million --out million.html
//   node crates/lab/show/web/benches/million.js million.html [ROUNDS]
//
// Prints a line of JSON for each round. It is no test: figures of a busy machine mean little, but for
// `cpu_ms`, the time that a frame takes of the thread that draws.

import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [file, rounds = "3"] = process.argv.slice(2);
/** Frames for which the shown time moves. */
const FRAMES = 120;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

/** Moves all graphs by a hundredth of the shown time in each frame. */
const pan = frames => new Promise(done => {
  const { range } = document.querySelector("figure.chart").chart;
  range.zoom(0.25);
  const times = [];
  let step = 0.01;
  const next = now => {
    times.push(now);
    if (times.length > frames) {
      const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
      const at = part => Number(gaps[Math.floor(part * (gaps.length - 1))].toFixed(1));
      const rate = Number((1000 / mean).toFixed(1));
      done({ frames_per_s: rate, median_ms: at(0.5), p95_ms: at(0.95) });
      return;
    }
    if (range.to >= range.bounds[1] || range.from <= range.bounds[0]) step = -step;
    range.pan(step);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
});

/** CPU time of the page's main thread in seconds. */
async function threadTime(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "ThreadTime").value;
}

for (let round = 0; round < Number(rounds); round++) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(`file://${resolve(file)}`);
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  const first = await page.evaluate(() => {
    const [mark] = performance.getEntriesByName("drawn");
    const [{ domInteractive }] = performance.getEntriesByType("navigation");
    return { first_figure_ms: Math.round(mark.startTime), parsed_ms: Math.round(domInteractive) };
  });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const before = await threadTime(session);
  const moved = await page.evaluate(pan, FRAMES);
  const cpu = (await threadTime(session) - before) / FRAMES;
  const figures = { ...first, ...moved, cpu_ms: Number((1e3 * cpu).toFixed(1)) };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  await page.close();
}
await browser.close();

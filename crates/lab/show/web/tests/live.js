// Looks at live tools on the page of `fairwave web` in Chromium, while their tests run them.
//
//   node tests/live.js http://127.0.0.1:PORT/TOKEN/ TOOL...
//
// Each TOOL names a graph that has to be drawn, of a command or of the card with a title: "shake
// connect=Received over each path" or "soc ap, interface w1=Weight". With SHOTS=DIRECTORY it keeps
// pictures. Afterwards the program reads standard input: a line with the title of a card means that
// its tool was ended by whoever started it.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { accessible, browser, open, WINDOWS } from "./page.js";

const [address, ...tools] = process.argv.slice(2);
const wanted = tools.map(tool => tool.split("="));
const served = { isServed: true };
const live = new URL("live", address).href;

const card = (page, tool) =>
  page.locator(`.card[aria-label^="${tool},"], .card[aria-label="${tool}"]`);

/** Waits until a graph has a line, which needs two samples of the tool. */
async function drawn(page, command, title) {
  const figure = card(page, command).locator("figure.chart", { hasText: title });
  await figure.waitFor();
  await figure.scrollIntoViewIfNeeded();
  const handle = await figure.elementHandle();
  await page.waitForFunction(element => {
    const { chart } = element;
    const values = chart.series.flatMap(({ ys }) => Array.from(ys).filter(y => !Number.isNaN(y)));
    return values.length > 1 && element.querySelector("canvas");
  }, handle);
}

for (const settings of WINDOWS) {
  await open("live", live, settings, async page => {
    for (const [command, title] of wanted) await drawn(page, command, title);
    await accessible(page, "live");
    const { SHOTS: shots } = process.env;
    const path = `${shots}/live-${settings.colorScheme}.png`;
    if (shots) await page.screenshot({ path, fullPage: true });
  }, served);
}

await open("live", new URL(address).href, WINDOWS[0], async page => {
  await page.getByRole("link", { name: "Live" }).click();
  await page.waitForSelector("html[data-ready]");
  for (const [command, title] of wanted) await drawn(page, command, title);
  // Tables change in place: the cell is the same, its text another one.
  const cell = await card(page, wanted[0][0]).locator("table td").filter({ hasText: /\d/ })
    .first().elementHandle();
  const text = () => page.evaluate(element => element.closest("table").textContent, cell);
  const before = await text();
  await page.waitForFunction(([element, old]) => element.closest("table").textContent !== old,
    [cell, before]);
  assert.ok(await cell.evaluate(element => element.isConnected), "a row keeps its cells");
  // Pause by keys.
  await page.getByRole("button", { name: "Pause" }).focus();
  await page.keyboard.press("Space");
  await page.getByText("Paused: the figures stay").waitFor();
  await page.keyboard.press("Space");
  await page.getByText("Figures are new each second").waitFor();
  process.stdout.write("live: good\n");
  for await (const title of createInterface({ input: process.stdin })) {
    const ended = page.locator(`.card[aria-label="${title}"]`);
    await ended.getByText("It has ended").waitFor();
    await ended.getByRole("button", { name: "Remove" }).focus();
    await page.keyboard.press("Enter");
    await ended.waitFor({ state: "detached" });
    process.stdout.write(`${title}: ended\n`);
  }
}, served);
await browser.close();

// Pages in Chromium, and checks that all of them pass.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
export const WINDOWS = [
  { colorScheme: "light", viewport: { width: 1400, height: 900 } },
  { colorScheme: "dark", viewport: { width: 380, height: 800 } },
];

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

/** Opens an address, lets `act` use the page once it has the element `ready`, and checks that it was
 * silent, and that it loaded nothing unless a server answers it. */
export async function open(kind, address, settings, act,
  { isServed = false, ready = "html[data-ready]" } = {}) {
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", message => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", error => complaints.push(error.stack));
  const requests = [];
  page.on("request", request => {
    if (!request.url().startsWith("blob:")) requests.push(request.url());
  });
  await page.goto(address);
  await page.waitForSelector(ready);
  await act(page);
  assert.deepEqual(complaints, [], `${kind}: the console is silent`);
  if (!isServed) assert.equal(requests.length, 1, `${kind}: ${requests}`);
  await context.close();
}

/** Faults that axe finds, such as too little contrast or an element without a name, and ids that
 * occur twice, which it accepts. */
export async function accessible(page, kind) {
  const ids = await page.locator("[id]").evaluateAll(all => all.map(({ id }) => id));
  const twice = ids.filter((id, i) => ids.indexOf(id) < i);
  assert.deepEqual(twice, [], `${kind}: ids that occur twice`);
  await page.addScriptTag({ path: AXE });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  assert.deepEqual(found, [], `${kind}: axe`);
  // Drawings follow a window that has become narrow a little later.
  const fits = page.waitForFunction(() =>
    document.documentElement.scrollWidth <= document.documentElement.clientWidth);
  const wider = await fits.then(() => [], () => page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const reaches = element => element.getBoundingClientRect().right > clientWidth;
    const found = [...document.body.querySelectorAll("*")].filter(reaches);
    return [`${scrollWidth} of ${clientWidth}`, ...found.map(one => one.outerHTML.slice(0, 150))];
  }));
  assert.deepEqual(wider, [], `${kind}: the page is wider than the window`);
}

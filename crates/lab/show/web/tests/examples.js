// Uses the examples of other notebooks in Chromium: the page of the npm package as Observable would
// show it, and the script of the Jupyter widget.
//
//   node tests/examples.js target/npm crates/python/examples/widget.js

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { accessible, browser, open, WINDOWS } from "./page.js";
import { serve } from "./served.js";

const [packages, widget] = process.argv.slice(2);
const { at, close } = await serve(packages);
const figure = (page, stations) => page.locator(`#figure[data-stations="${stations}"]`);

for (const settings of WINDOWS) {
  const shown = { isServed: true, ready: "#figure[data-stations]" };
  await open("observable", at("examples/"), settings, async page => {
    assert.equal(await figure(page, 3).locator("svg path[stroke]").count(), 3);
    await page.getByRole("slider").focus();
    await page.keyboard.press("ArrowRight");
    await figure(page, 4).waitFor();
    assert.equal(await figure(page, 4).locator("svg path[stroke]").count(), 4);
    assert.match(await page.locator("#answer").textContent(), /^4 flows with /);
    await accessible(page, "observable");
  }, shown);
}
process.stdout.write("observable: good\n");

/** A page with a model as Jupyter has it: values by their names, and those who wait for changes. */
const PAGE = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>widget</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Widget</h1><div id="place"></div></main></body></html>`;
const script = await readFile(widget, "utf8");
for (const settings of WINDOWS) {
  const shown = { isServed: true, ready: "main" };
  await open("widget", `data:text/html,${encodeURIComponent(PAGE)}`, settings, async page => {
    await page.evaluate(async text => {
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const { default: made } = await import(address);
      const values = { stations: 2, most: 8, answer: "2 flows", seconds: [0, 1, 2],
        series: [["up1", [1, 2, 3]], ["up2", [3, null, 1]]] };
      const waiting = new Map();
      const model = { saved: 0, get: name => values[name],
        set(name, value) {
          values[name] = value;
          waiting.get(`change:${name}`)?.forEach(call => call());
        },
        save_changes() { this.saved++; },
        on: (name, call) => waiting.set(name, [...waiting.get(name) ?? [], call]),
        off: (name, call) => waiting.set(name,
          (waiting.get(name) ?? []).filter(one => one !== call)) };
      const el = document.getElementById("place");
      globalThis.trial = { model, waiting, end: await made.render({ model, el }) };
    }, script);
    assert.equal(await page.locator("svg polyline").count(), 3, "a gap parts a line");
    assert.equal(await page.locator("figcaption").textContent(), "2 flows");
    await page.getByRole("slider").focus();
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(await page.evaluate(() =>
      [globalThis.trial.model.get("stations"), globalThis.trial.model.saved]), [3, 1]);
    await page.evaluate(() => {
      globalThis.trial.model.set("answer", "3 flows");
      globalThis.trial.model.set("series", [["up1", [1, 1, 1]]]);
    });
    await page.locator("figcaption", { hasText: "3 flows" }).waitFor();
    assert.equal(await page.locator("svg polyline").count(), 1);
    await accessible(page, "widget");
    const left = await page.evaluate(() => {
      globalThis.trial.end();
      return [...globalThis.trial.waiting.values()].flat().length;
    });
    assert.equal(left, 0, "a widget that is closed waits for nothing");
  }, shown);
}
process.stdout.write("widget: good\n");
close();
await browser.close();

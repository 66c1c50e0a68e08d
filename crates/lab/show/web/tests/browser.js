// Opens pages in Chromium as a reader would, with a pointer and with keys alone.
//
//   node tests/browser.js run=run.html sweep=sweep.html capture=capture.html comparison=ab.html \
//     report=study/report.html trace=trace/report.html between=between/report.html \
//     shares=shares.html

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { accessible, browser, open, WINDOWS } from "./page.js";

const pages = Object.fromEntries(process.argv.slice(2).map(argument => argument.split("=")));
const address = kind => `file://${resolve(pages[kind])}`;

/** Whether each canvas on the screen has pixels of several colours. */
async function drawn(page, kind) {
  const graphs = page.locator("figure.chart");
  const count = await graphs.count();
  assert.ok(count > 0, `${kind} has graphs`);
  for (let i = 0; i < count; i++) {
    await graphs.nth(i).scrollIntoViewIfNeeded();
    await graphs.nth(i).locator("canvas").waitFor();
    const canvas = await graphs.nth(i).locator("canvas").elementHandle();
    await page.waitForFunction(element => {
      const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
      const colours = new Set();
      for (let at = 0; at < data.length && colours.size < 3; at += 4) {
        if (data[at + 3]) colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
      }
      return colours.size >= 2;
    }, canvas);
  }
}

const shown = page => page.locator("output.shown").textContent();
const ends = page => page.locator(".brush .handle").evaluateAll(handles =>
  handles.map(handle => Number(handle.getAttribute("aria-valuenow"))));

async function changes(page, act, what) {
  const before = await shown(page);
  await act();
  await page.waitForFunction(text =>
    document.querySelector("output.shown").textContent !== text, before);
  assert.notEqual(await shown(page), before, what);
}

/** Zooms by dragging in a graph, reads values, hides a series. */
async function pointer(page) {
  const graph = page.locator("figure.chart").first();
  const over = graph.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const at = part => [box.x + part * box.width, box.y + box.height / 2];
  const all = await ends(page);
  await changes(page, async () => {
    await page.mouse.move(...at(0.25));
    await page.mouse.down();
    await page.mouse.move(...at(0.5), { steps: 4 });
    await page.mouse.up();
  }, "a drag zooms");
  const near = await ends(page);
  const part = (near[1] - near[0]) / (all[1] - all[0]);
  assert.ok(Math.abs(part - 0.25) < 0.02, `a quarter of the time is shown, not ${part}`);
  await page.mouse.move(...at(0.6));
  await graph.locator(".legend b").first().filter({ hasText: /\d/ }).waitFor();
  await page.keyboard.down("Shift");
  await changes(page, async () => {
    await page.mouse.down();
    await page.mouse.move(...at(0.3), { steps: 4 });
    await page.mouse.up();
  }, "Shift and a drag move");
  await page.keyboard.up("Shift");
  const moved = await ends(page);
  assert.ok(Math.abs(moved[1] - moved[0] - (near[1] - near[0])) < 1e-9, "the length stays");
  await changes(page, () => over.dblclick(), "a double click shows all");
  assert.deepEqual(await ends(page), all);
}

/** The same by keys alone, from the top of the page on. */
async function keys(page) {
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  const focus = async test => {
    for (let i = 0; i < 200; i++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(test)) return;
    }
    assert.fail("Tab does not lead there");
  };
  const all = await ends(page);
  await focus(() => document.activeElement.getAttribute("aria-label") === "Zoom in");
  await changes(page, () => page.keyboard.press("Enter"), "a button zooms");
  await focus(() => document.activeElement.getAttribute("role") === "slider");
  await changes(page, () => page.keyboard.press("ArrowRight"), "a handle moves");
  await focus(() => document.activeElement.classList.contains("canvas"));
  for (const key of ["+", "ArrowRight", "ArrowLeft", "-"]) {
    await changes(page, () => page.keyboard.press(key), `${key} acts`);
  }
  await page.keyboard.press("Shift+ArrowRight");
  const status = page.locator("#status").filter({ hasText: /at .*\d/ });
  await status.waitFor({ state: "attached" });
  await changes(page, () => page.keyboard.press("Escape"), "Escape shows all");
  assert.deepEqual(await ends(page), all);
  await focus(() => document.activeElement.closest(".legend"));
  await page.keyboard.press("Space");
  const pressed = () => document.activeElement.getAttribute("aria-pressed");
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-pressed") === "false");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-pressed") === "true");
  assert.equal(await page.evaluate(pressed), "true");
}

/** The same column twice as a further graph: each of the two has a legend. */
async function twice(page) {
  const graphs = page.locator(".graphs").first().locator("figure.chart");
  const further = page.getByLabel("Another graph:");
  const before = await graphs.count();
  for (const added of [1, 2]) {
    await further.selectOption("flows.sent_packets");
    await graphs.nth(before + added - 1).waitFor();
  }
  for (const isShown of [false, true]) {
    await graphs.nth(before).locator(".legend button").first().click();
    for (const added of [0, 1]) {
      const entry = graphs.nth(before + added).locator(".legend button").first();
      assert.equal(await entry.getAttribute("aria-pressed"), String(isShown), `graph ${added}`);
    }
  }
}

/** Chooses each figure, axis and run of a sweep. */
async function choices(page) {
  const selects = page.locator(".choices select");
  for (let i = 0; i < await selects.count(); i++) {
    const options = await selects.nth(i).locator("option").allTextContents();
    await selects.nth(i).selectOption(options.at(-1));
    await page.waitForSelector("figure.chart canvas");
  }
}

/** A report: each drawing is a graph that a pointer and keys explore; paper has the drawing. */
async function explored(page) {
  const graph = page.locator("figure.chart").first();
  const range = () => graph.evaluate(({ chart: { range } }) => [range.from, range.to]);
  const changed = async (act, what) => {
    const before = await range();
    await act();
    const isOther = ([from, to]) => {
      const { range: now } = document.querySelector("figure.chart").chart;
      return now.from !== from || now.to !== to;
    };
    await page.waitForFunction(isOther, before).catch(() => assert.fail(what));
  };
  const all = await range();
  const over = graph.locator(".u-over");
  await unfold(page);
  await graph.scrollIntoViewIfNeeded();
  await over.waitFor();
  const box = await over.boundingBox();
  const at = part => [box.x + part * box.width, box.y + box.height / 2];
  await changed(async () => {
    await page.mouse.move(...at(0.25));
    await page.mouse.down();
    await page.mouse.move(...at(0.5), { steps: 4 });
    await page.mouse.up();
  }, "a drag zooms");
  await page.mouse.move(...at(0.6));
  await graph.locator(".legend b").first().filter({ hasText: /\d/ }).waitFor();
  await graph.locator(".canvas").focus();
  for (const key of ["+", "ArrowRight", "ArrowLeft", "-"]) {
    await changed(() => page.keyboard.press(key), `${key} acts`);
  }
  await page.keyboard.press("Shift+ArrowRight");
  await page.locator("#status").filter({ hasText: /at .*: / }).waitFor({ state: "attached" });
  await changed(() => page.keyboard.press("Escape"), "Escape shows all");
  assert.deepEqual(await range(), all);
  await graph.locator(".legend button").first().press("Space");
  await graph.locator(".legend button[aria-pressed=false]").waitFor();
  const drawing = page.locator(".plot.explored svg").first();
  assert.ok(!await drawing.isVisible(), "the drawing is not seen on the screen");
  await page.emulateMedia({ media: "print" });
  assert.ok(await drawing.isVisible() && !await graph.isVisible(), "the drawing is printed");
}

/** Opens what is folded. */
const unfold = page => page.evaluate(() => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});

const acts = {
  run: async page => { await pointer(page); await keys(page); await twice(page); },
  sweep: choices,
  capture: async page => { await pointer(page); await keys(page); },
  report: explored,
  trace: explored,
  between: explored,
  shares: explored,
  comparison: async page => { assert.ok(await page.locator("tbody tr").count() > 0); },
};

for (const kind of Object.keys(pages)) {
  for (const settings of WINDOWS) {
    await open(kind, address(kind), settings, async page => {
      await unfold(page);
      if (kind !== "comparison") await drawn(page, kind);
      await accessible(page, kind);
    });
  }
  await open(kind, address(kind), WINDOWS[0], acts[kind]);
  process.stdout.write(`${kind}: good\n`);
}
await browser.close();

// Uses the laboratory in Chromium: runs, errors, links, tours, by pointer and by keys.
//
//   node tests/laboratory.js lab/index.html       a page with the module, from the file system
//   node tests/laboratory.js http://127.0.0.1/..  the page of a server
//
// With FIGURE=1 it prints the time from the start of the page to the first figure, and with
// SHOTS=DIRECTORY it keeps pictures of the tours that answer questions.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { accessible, browser, open, WINDOWS } from "./page.js";
import { serve } from "./served.js";

const [given] = process.argv.slice(2);
const isServer = given.startsWith("http:");
const address = isServer ? given : `file://${resolve(given)}`;
const SCENARIO = "scenarios/rate-anomaly.toml";
const SHORT = "duration = 2 s\nwarm_up=500 ms";

const said = page => page.locator(".bench [role=status]");
const run = page => page.getByRole("button", { name: "Run", exact: true });

/** Chooses a scenario and makes it short. */
async function prepare(page, settings = SHORT) {
  await page.locator(".bench select").first().selectOption(SCENARIO);
  await page.getByLabel("Settings instead").fill(settings);
  const [key] = settings.split(/\s*=/);
  await page.locator(".bench code").filter({ hasText: `--set '${key}=` }).waitFor();
}

/** Waits until this number of runs is drawn. */
async function drawn(page, count) {
  await page.waitForFunction(wanted =>
    document.querySelectorAll(".card[data-drawn]").length === wanted, count);
}

/** Waits for the first figure of the first run, which is drawn once it is in the window. */
async function figure(page) {
  const first = page.locator(".card figure.chart").first();
  await first.scrollIntoViewIfNeeded();
  await first.locator("canvas").waitFor();
}

/** Waits until a drawing has colours. */
async function coloured(page, canvas) {
  await canvas.scrollIntoViewIfNeeded();
  await page.waitForFunction(element => {
    const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
    const colours = new Set();
    for (let at = 0; at < data.length && colours.size < 3; at += 4) {
      if (data[at + 3]) colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    }
    return colours.size > 2;
  }, await canvas.elementHandle());
}

/** A run, two side by side, their files, and the end of one. */
async function runs(page) {
  await prepare(page);
  await run(page).click();
  await drawn(page, 1);
  await figure(page);
  assert.match(await page.locator(".card .facts").first().textContent(), /seed 1/);
  await page.getByText("Files of the run").click();
  const [table] = await Promise.all([page.waitForEvent("download"),
    page.getByRole("button", { name: "flows.parquet" }).click()]);
  assert.equal(table.suggestedFilename(), "flows.parquet");
  const followers = () => page.locator(".card figure.chart").first()
    .evaluate(({ chart }) => chart.range.listeners.size);
  const alone = await followers();
  await page.getByLabel("Keep earlier runs").check();
  await page.getByLabel("Point of the sweep").selectOption({ index: 2 });
  await page.getByRole("spinbutton", { name: "Seed", exact: true }).fill("7");
  await page.locator(".bench code").filter({ hasText: "--seed 7" }).waitFor();
  await run(page).click();
  await drawn(page, 2);
  assert.equal(await page.getByRole("heading", { name: "Side by side" }).count(), 1);
  const row = await page.getByRole("row", { name: /^slow/ }).first().textContent();
  assert.match(row, /^slow\d/);
  assert.ok(await followers() > alone, "both runs follow the time that they share");
  await page.getByRole("button", { name: "Remove run 1" }).click();
  await drawn(page, 1);
  assert.equal(await followers(), alone, "nothing of a run that was removed is left");
}

/** All points of a sweep with two seeds each: by keys, with a figure of the reader's choice, the
 * table as a file, and a sweep that is cancelled. */
async function sweep(page) {
  await prepare(page);
  const every = page.getByRole("button", { name: "Run all points" });
  await page.getByLabel("Seeds of each point").fill("2");
  await every.focus();
  await page.keyboard.press("Enter");
  await said(page).filter({ hasText: "6 runs of 3 points in" }).waitFor();
  const card = page.locator(".sweep");
  assert.match(await card.textContent(), /The flows together get from .* to /);
  const rows = card.locator("table").first().locator("tbody tr");
  const labels = await rows.locator("th").allTextContents();
  assert.deepEqual(labels.map(label => /\d+ Mbps/.exec(label)[0]), ["54 Mbps", "24 Mbps", "6 Mbps"]);
  const cells = await rows.locator("td:nth-of-type(2)").allTextContents();
  assert.ok(cells.every(cell => / ± /.test(cell)), `two seeds have an interval: ${cells}`);
  const sums = cells.map(Number.parseFloat);
  assert.ok(sums[0] > sums[1] && sums[1] > sums[2], `a slow station costs all: ${sums}`);
  assert.deepEqual(await rows.locator("td:last-child").allTextContents(), ["2", "2", "2"]);
  await coloured(page, card.locator("figure.chart canvas"));
  const legend = await card.locator(".legend li").allTextContents();
  assert.deepEqual(legend, ["fast-fast1", "fast-fast2", "fast-fast3", "slow"]);
  await accessible(page, "sweep");
  const figure = card.getByLabel("Figure:");
  await figure.focus();
  await page.keyboard.type("station slow: airtime");
  await card.getByRole("group", { name: "station slow: airtime (%)" }).waitFor();
  const [table] = await Promise.all([page.waitForEvent("download"),
    card.getByRole("button", { name: "Save all figures as CSV" }).click()]);
  assert.equal(table.suggestedFilename(), "rate-anomaly.csv");
  const lines = readFileSync(await table.path(), "utf8").split("\r\n");
  assert.equal(lines[0], "node.slow.data_rate,metric,runs,mean,low,high,std_dev");
  assert.match(lines[1], /^54 Mbps,goodput_mbps,2,\d/);
  const command = await card.locator("code").textContent();
  assert.match(command, /^fairwave sweep scenarios\/rate-anomaly\.toml .* --set sweep\.seeds=2$/);
  await many(page, every);
  await interrupted(page, every);
}

/** A sweep with more runs than a page makes, and one that is none. */
async function many(page, every) {
  const seeds = page.getByLabel("Seeds of each point");
  await seeds.fill("200");
  await page.getByText("600 runs: a page makes at most 500").waitFor();
  assert.ok(await every.isDisabled());
  await seeds.fill("1");
  const one = `${SHORT}\nsweep.node.slow.data_rate=['6 Mbps']`;
  await page.getByLabel("Settings instead").fill(one);
  await every.waitFor({ state: "hidden" });
  await seeds.fill("3");
  await page.getByRole("button", { name: "Run all seeds" }).click();
  await said(page).filter({ hasText: "3 runs of 1 points" }).waitFor();
}

/** A cancelled sweep shows the runs that were made before. */
async function interrupted(page, every) {
  await prepare(page, "duration=20 s");
  await page.getByLabel("Seeds of each point").fill("100");
  await every.click();
  await page.getByText(/^[1-9]\d* of 300 runs, about \d+ s left$/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await said(page).filter({ hasText: /The sweep was cancelled after [1-9]\d* of 300 runs\./ })
    .waitFor();
  assert.ok(await page.locator(".sweep tbody tr").count() > 0, "finished runs are shown");
  await page.getByRole("button", { name: "Remove this sweep" }).click();
  await page.locator(".sweep").waitFor({ state: "detached" });
}

/** A run that is cancelled, and another one after it. */
async function cancel(page) {
  await prepare(page, "duration=2000 s");
  await run(page).click();
  await page.waitForFunction(() => document.querySelector("progress").value > 0);
  await page.getByRole("button", { name: "Cancel" }).click();
  await said(page).filter({ hasText: "cancelled" }).waitFor();
  await prepare(page);
  await run(page).click();
  await drawn(page, 1);
}

/** An error has its place, its remedy, and a way there. */
async function errors(page) {
  await prepare(page);
  const text = page.getByLabel("Text of the scenario");
  const before = await text.inputValue();
  await text.fill(before.replace("[[node]]", "[[noed]]"));
  const list = page.locator(".errors");
  await list.getByText("did you mean").first().waitFor();
  assert.ok(await run(page).isDisabled());
  await list.getByRole("button").first().click();
  const chosen = await text.evaluate(area =>
    area.value.slice(area.selectionStart, area.selectionEnd));
  assert.equal(chosen, "noed");
  await text.fill(before);
  await page.waitForFunction(() => !document.querySelector(".errors").hasChildNodes());
}

/** A setting by the form of keys; the drawing follows. */
async function form(page) {
  await prepare(page);
  const drawing = page.locator(".topology svg");
  assert.match(await drawing.getAttribute("aria-label"), /3 stations \(fast1, fast2, fast3\)/);
  await page.getByLabel("Key", { exact: true }).fill("node.fast.count");
  await page.getByText("Number of stations. One").first().waitFor();
  const value = page.getByLabel("Value", { exact: true });
  assert.equal(await value.inputValue(), "3");
  await value.fill("5");
  await value.press("Enter");
  await page.locator(".topology svg[aria-label*='5 stations (fast1 … fast5)']").waitFor();
  await value.fill("6");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await page.locator(".topology svg[aria-label*='6 stations (fast1 … fast6)']").waitFor();
  const lines = await page.getByLabel("Settings instead").inputValue();
  assert.equal(lines.match(/node\.fast\.count/g).length, 1, lines);
}

/** A scenario written by keys alone, with the list of completions: headers, keys and values. */
async function completes(page) {
  const text = page.getByLabel("Text of the scenario");
  const list = page.getByRole("listbox", { name: "Completions" });
  const active = () => text.evaluate(area =>
    document.getElementById(area.getAttribute("aria-activedescendant"))?.textContent);
  await text.fill("duration = \"2 s\"\n");
  await text.press("Control+End");
  await text.pressSequentially("[ce");
  await text.press("Control+Space");
  assert.equal(await active(), "[cell]");
  await text.press("Enter");
  await list.waitFor({ state: "hidden" });
  await text.press("Enter");
  await text.pressSequentially("stan");
  await text.press("Control+Space");
  assert.equal(await active(), "standard");
  // The key is followed by the list of its values.
  await text.press("Enter");
  assert.equal(await active(), "\"802.11a\"");
  await text.press("ArrowDown");
  await text.press("ArrowUp");
  await text.press("ArrowUp");
  assert.equal(await active(), "\"802.11ax\"");
  await text.pressSequentially("\"802.11n");
  assert.deepEqual(await list.getByRole("option").allTextContents(), ["\"802.11n\""]);
  await accessible(page, "completion");
  await text.press("Enter");
  assert.match(await text.inputValue(), /\[cell\]\nstandard = "802.11n"$/);
  await text.press("Enter");
  await text.press("Control+Space");
  const offered = await list.getByRole("option").allTextContents();
  assert.ok(offered.includes("width") && !offered.includes("standard"), `${offered}`);
  await text.press("Escape");
  await list.waitFor({ state: "hidden" });
  // What was completed can be undone, and a pointer chooses, too.
  await text.pressSequentially("[[no");
  await text.press("Control+Space");
  await text.press("Escape");
  await page.getByRole("button", { name: "Complete" }).click();
  await list.getByRole("option", { name: "[[node]]" }).click();
  await text.press("Control+z");
  assert.match(await text.inputValue(), /\[\[no$/);
  assert.ok(await text.evaluate(area => area === document.activeElement), "the focus stays");
}

/** A link carries scenario, settings, point and seed; a damaged one is refused. */
async function link(page) {
  await prepare(page);
  await page.getByLabel("Text of the scenario").fill(`# Is it ours?\n${
    await page.getByLabel("Text of the scenario").inputValue()}`);
  await page.getByRole("spinbutton", { name: "Seed", exact: true }).fill("9");
  await page.getByLabel("Point of the sweep").selectOption({ index: 1 });
  await page.locator(".bench code").filter({ hasText: "--seed 9" }).waitFor();
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const shared = page.url();
  const command = await page.locator(".bench code").textContent();
  assert.match(command, /^fairwave run rate-anomaly\.toml /, "the file that Save scenario writes");
  const first = "The same run by the command (save the scenario first, as rate-anomaly.toml): ";
  await page.locator(".bench p", { hasText: first }).waitFor();
  const other = await page.context().newPage();
  await other.goto(shared);
  await other.waitForSelector("html[data-ready]");
  assert.match(await other.getByLabel("Text of the scenario").inputValue(), /^# Is it ours\?/);
  assert.equal(await other.locator(".bench code").textContent(), command);
  await other.locator(".bench p", { hasText: first }).waitFor();
  await other.evaluate(() => { location.hash = "#s=AAAA"; });
  await other.getByText("the link is damaged").waitFor();
  await other.close();
}

/** A text that the reader changed stays: in the list when another one is opened, and in the form
 * when the way back leads to the link that is there. */
async function drafts(page) {
  await prepare(page);
  const text = page.getByLabel("Text of the scenario");
  const list = page.locator(".bench select").first();
  const mine = `# Is it mine?\n${await text.inputValue()}`;
  await text.fill(mine);
  await list.selectOption("scenarios/home.toml");
  assert.notEqual(await text.inputValue(), mine);
  await list.selectOption(`${SCENARIO}, changed`);
  assert.equal(await text.inputValue(), mine);
  assert.match(await page.getByLabel("Settings instead").inputValue(), /^warm_up=500 ms$/m);
  const command = page.locator(".bench code");
  await command.filter({ hasText: /^fairwave run rate-anomaly\.toml / }).waitFor();
  await list.selectOption(SCENARIO);
  await command.filter({ hasText: /^fairwave run scenarios\/rate-anomaly\.toml / }).waitFor();
  assert.equal(await page.getByText("save the scenario first").count(), 0);
  await list.selectOption(`${SCENARIO}, changed`);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  await text.fill(`# And this?\n${mine}`);
  await page.getByLabel("Settings instead").fill("duration=3 s");
  await page.locator(".bench code").filter({ hasText: "duration=3 s" }).waitFor();
  await page.getByRole("link", { name: "Five papers as tours" }).click();
  await page.evaluate(() => new Promise(came => {
    addEventListener("hashchange", came, { once: true });
    history.back();
  }));
  // The page reads one link after another, so that the first has been read then.
  await page.evaluate(() => { location.hash = "#s=AAAA"; });
  await page.getByText("the link is damaged").waitFor();
  assert.match(await text.inputValue(), /^# And this/);
}

/** Waits until the run of a tour is drawn. */
async function rested(page, handle) {
  await page.waitForFunction(element =>
    element.getAttribute("aria-busy") === "false", handle, { timeout: 120_000 });
}

/** Acts on a tour, and waits for its new figure. */
async function redrawn(page, tour, act) {
  const figure = await tour.locator("figure").elementHandle();
  await act();
  await page.waitForFunction(element => !element.isConnected, figure, { timeout: 120_000 });
  await rested(page, await tour.elementHandle());
}

/** The figure of a tour: values below it, and no error. */
async function sound(tour, what) {
  const note = await tour.locator(".sliders [role=status]").textContent();
  assert.match(note, /^\d+ s simulated and drawn in/, `${what}: ${note}`);
  const values = await tour.locator(".figure tbody td:nth-of-type(2)").allTextContents();
  assert.ok(values.some(value => /^\d/.test(value)), `${what}: ${values}`);
  const answer = await tour.locator(".answer").textContent();
  assert.doesNotMatch(answer, /no value|NaN|undefined/, what);
  assert.ok(await tour.locator("figure .legend button").count() > 0, `${what}: series`);
  if (process.env.FIGURE) process.stdout.write(`${what}: ${note} ${answer}\n`);
}

/** Each experiment of each tour, by keys, and one slider of each. */
async function tours(page) {
  const all = page.locator(".tour");
  const count = await all.count();
  assert.equal(count, 5);
  for (let i = 0; i < count; i++) {
    const tour = all.nth(i);
    const name = await tour.getAttribute("aria-label");
    await tour.scrollIntoViewIfNeeded();
    await rested(page, await tour.elementHandle());
    const experiment = tour.getByRole("combobox", { name: "Experiment" });
    const names = await experiment.locator("option").allTextContents();
    assert.ok(names.length > 2, `${name}: ${names}`);
    for (const [e, chosen] of names.entries()) {
      if (e > 0) {
        await experiment.focus();
        await redrawn(page, tour, () => page.keyboard.press("ArrowDown"));
      }
      assert.equal(await experiment.inputValue(), chosen);
      await sound(tour, `${name}, ${chosen}`);
      const sliders = tour.locator(".sliders input[type=range]");
      const steps = await sliders.count();
      assert.ok(steps >= 2 && await tour.getByRole("slider").count() >= steps, chosen);
      const slider = sliders.nth(e % steps);
      const before = await slider.getAttribute("aria-valuetext");
      await slider.focus();
      const key = await slider.inputValue() === "0" ? "ArrowRight" : "ArrowLeft";
      await redrawn(page, tour, () => page.keyboard.press(key));
      assert.notEqual(await slider.getAttribute("aria-valuetext"), before, chosen);
      await sound(tour, `${name}, ${chosen}, slider ${e % steps + 1}`);
    }
    await claims(page, tour, name);
  }
}

/** Each claim of a tour has an experiment or a reason; a button chooses the experiment. */
async function claims(page, tour, name) {
  await tour.getByText("The paper's claims").click();
  const rows = tour.locator("details tbody tr");
  const trials = await rows.evaluateAll(found => found.map(row => ({
    id: row.cells[0].textContent, text: row.cells[1].textContent,
    buttons: [...row.querySelectorAll("button")].map(button => button.getAttribute("aria-label")),
  })));
  assert.ok(trials.length > 0, `${name}: verdicts`);
  for (const { id, text, buttons } of trials) {
    assert.ok(buttons.length || /^[A-Z].{30,}\.$/.test(text), `${name}: ${id} has no experiment`);
    assert.ok(buttons.every(label => label.startsWith(`Try ${id}: `)), `${buttons}`);
  }
  const [label] = trials.findLast(({ buttons }) => buttons.length).buttons;
  const button = tour.getByRole("button", { name: label, exact: true });
  await button.focus();
  await redrawn(page, tour, () => page.keyboard.press("Enter"));
  const experiment = tour.getByRole("combobox", { name: "Experiment" });
  assert.equal(await experiment.inputValue(), label.replace(/^Try [^:]*: /, ""));
  assert.ok(await experiment.evaluate(select => select === document.activeElement), "the focus");
  await sound(tour, label);
}

/** Questions that a student answers by a tour alone: the sliders to move, by their numbers, and the
 * sentence that has the answer. docs/laboratory.md has them in words. */
const QUESTIONS = [
  ["ack-loss", [[0, 4]], /7 flows below a tenth/],
  ["ack-loss", [[0, 4], [2, 1]], /Jain's index 0\.9\d+\), up-sta16 has least/],
  ["fairness", [[0, 5]], /the shares are even/],
  ["fairness", [[0, 0], [2, 1]], /the shares are uneven/],
  ["socps", [[0, 0]], /C1 gets 0\.03\d+ Mbps, and the 7 others 0\.09\d+ each/],
  ["socps", [[0, 0], [1, 4]], /C1 gets 0 Mbps, and the 7 others 0\.22\d+ each/],
  ["shake", [[0, 0]], /arrive after 99\.\d+ s: 28 % over link 1,/],
  ["shake", [[0, 4]], /arrive after \d+\.\d+ s: \d+ % over link 1,/],
  ["tfrc-handover", [[0, 1]], /the mobile gets 0\.[23]\d+ Mbps, and the 9 others 0\.[34]\d+ each/],
  ["tfrc-handover", [[0, 4]], /the mobile gets 0\.\d+ Mbps, and the 9 others 0\.\d+ each/],
];

async function questions(page) {
  for (const [study, moves, says] of QUESTIONS) {
    const tour = page.locator(`#${study}`);
    await tour.scrollIntoViewIfNeeded();
    await rested(page, await tour.elementHandle());
    const sliders = tour.locator(".sliders input[type=range]");
    for (const [number, step] of moves) {
      const slider = sliders.nth(number);
      if (await slider.inputValue() === String(step)) continue;
      await redrawn(page, tour, () => slider.fill(String(step)));
    }
    assert.match(await tour.locator(".answer").textContent(), says, study);
    if (process.env.SHOTS) await tour.screenshot({ path: `${process.env.SHOTS}/${study}.png` });
  }
}

/** A run by keys alone, from the top of the page. */
async function keys(page) {
  await prepare(page);
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  for (let i = 0; ; i++) {
    assert.ok(i < 40, "Tab leads to the button");
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.textContent === "Run")) break;
  }
  await page.keyboard.press("Enter");
  await drawn(page, 1);
}

for (const settings of WINDOWS) {
  await open("laboratory", address, settings, async page => {
    await page.locator(".tour").first().scrollIntoViewIfNeeded();
    for (const claims of await page.locator(".tour summary").all()) await claims.click();
    await prepare(page);
    await run(page).click();
    await drawn(page, 1);
    await page.getByLabel("Keep earlier runs").check();
    await run(page).click();
    await drawn(page, 2);
    await accessible(page, "laboratory");
  }, { isServed: isServer });
}
/** A run and a tour without a network, once the page is there. */
async function offline(page) {
  await page.context().setOffline(true);
  await prepare(page);
  await run(page).click();
  await drawn(page, 1);
  await figure(page);
  const tour = page.locator(".tour").first();
  await tour.scrollIntoViewIfNeeded();
  await tour.locator(".sliders [role=status]").filter({ hasText: "simulated" }).waitFor();
}

const acts = { runs, sweep, cancel, errors, form, completes, link, drafts, tours, questions, keys };
for (const [name, act] of Object.entries(acts)) {
  await open(name, address, WINDOWS[0], act, { isServed: isServer });
  process.stdout.write(`${name}: good\n`);
}
await open("sweep, narrow", address, WINDOWS[1], sweep, { isServed: isServer });
if (!isServer) {
  // The same file from a plain static server, which is asked once.
  const { at, close } = await serve(dirname(resolve(given)));
  for (const place of [address, at(basename(given))]) {
    await open(`offline, ${place}`, place, WINDOWS[0], offline);
    process.stdout.write(`offline, ${new URL(place).protocol} good\n`);
  }
  close();
}
if (process.env.FIGURE) {
  await open("first figure", address, WINDOWS[0], async page => {
    await prepare(page);
    const begun = Date.now();
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    await run(page).click();
    await figure(page);
    process.stdout.write(`first figure after ${Date.now() - begun} ms\n`);
    // The page is loaded twice.
  }, { isServed: true });
}
await browser.close();

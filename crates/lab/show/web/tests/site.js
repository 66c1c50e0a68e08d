// Reads the documentation site in Chromium, from a server on this machine: every page of the manual,
// the search, keys, and what axe finds.
//
//   node tests/site.js target/site

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { accessible, browser, open, WINDOWS } from "./page.js";
import { serve } from "./served.js";

const root = resolve(process.argv[2]);
/** Pages that axe reads, of each kind one: its rules take seconds a page. */
const READ = ["index.html", "docs/start.html", "docs/tutorials/home-network.html",
  "docs/studies/ack-loss.html", "docs/models/queues.html"];
/** Pages that are open at once. */
const AT_ONCE = 4;

const { at, close } = await serve(root);
const shown = { isServed: true, ready: "article h1" };

const manual = (await readdir(join(root, "docs"), { recursive: true }))
  .filter(name => name.endsWith(".html")).map(name => `docs/${name}`);
assert.ok(manual.length > 40, `the manual has pages: ${manual.length}`);
/** The page of the laboratory, which is made after the rest of the site. */
const LABORATORY = "lab/index.html";
/** Every address within the site that a page links to leads to a file or a directory of it. */
const followed = async (page, path) => {
  const written = await page.locator("a[href]").evaluateAll(links =>
    links.map(link => link.getAttribute("href")));
  for (const href of written.filter(one => !/^[a-z]+:|^#/.test(one))) {
    const [file] = href.split(/[?#]/);
    const place = join(root, dirname(path), decodeURIComponent(file));
    const inner = relative(root, place);
    assert.ok(inner === LABORATORY || !inner.startsWith("..") && existsSync(place),
      `${path}: ${href} leads nowhere`);
  }
};
/** That a page is silent, links to what is there, and is no wider than a phone's window. */
const narrow = path => open(path, at(path), WINDOWS[1], async page => {
  await followed(page, path);
  const [scroll, width] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(scroll <= width, `${path}: the page is not wider than a phone's window`);
}, shown);
for (let next = 0; next < manual.length; next += AT_ONCE) {
  await Promise.all(manual.slice(next, next + AT_ONCE).map(narrow));
}
for (const settings of WINDOWS) {
  for (const path of READ) {
    await open(path, at(path), settings, page => accessible(page, path), shown);
  }
}
await open("search", at("index.html"), WINDOWS[0], async page => {
  await page.keyboard.press("/");
  await page.keyboard.type("Jain");
  await page.locator(".md-search-result__item a").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(url => url.pathname !== "/index.html");
}, shown);
await browser.close();
close();

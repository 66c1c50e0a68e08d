// Tables of a page, in pieces: the footer of each before the script, and a piece for each column
// behind it, those of the first graphs first. The page is drawn while the browser still reads it.

import { fromBase64 } from "./parquet.js";

const waiting = new Map();

/** An element with text, once the browser has read all of it. */
function read(id) {
  const found = complete(id);
  if (found) return found;
  return new Promise((resolve, reject) => { waiting.set(id, { resolve, reject }); });
}

/** An element that has another one behind it, or that a complete page has. */
function complete(id) {
  const element = document.getElementById(id);
  return element && (element.nextElementSibling || document.readyState !== "loading")
    ? element : null;
}

function look() {
  for (const [id, { resolve, reject }] of waiting) {
    const found = complete(id);
    const isOver = document.readyState !== "loading";
    if (!found && !isOver) continue;
    waiting.delete(id);
    if (found) resolve(found);
    else reject(new Error(`the page ends before its data ${id}`));
  }
}

new MutationObserver(look).observe(document.body, { childList: true });
document.addEventListener("DOMContentLoaded", look);

/** The Parquet file with a number. */
export class Pieces {
  constructor(number) {
    this.id = `table-${number}`;
    this.footer = fromBase64(document.getElementById(this.id).textContent);
  }

  /** The bytes of a column in each row group, of sizes that `places` has. */
  async chunks(name, places) {
    const bytes = fromBase64((await read(`${this.id}-${name}`)).textContent);
    let at = 0;
    return places.map(({ size }) => bytes.subarray(at, at += size));
  }
}

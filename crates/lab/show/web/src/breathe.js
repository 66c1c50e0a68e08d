// Pauses of long work, in which the page can answer its reader.

/** Milliseconds after which work pauses. */
const LONGEST = 12;
let begin = 0;
let isDrawn = false;

/** Marks the time of the first drawing. Work before it has no pauses: there is nothing to use yet,
 * and the browser would read the rest of the page in them. */
export function drawn() {
  if (!isDrawn) performance.mark("drawn");
  isDrawn = true;
}

/** Lets the browser do what waits, if the work has lasted long enough. */
export async function breathe() {
  if (!isDrawn || performance.now() - begin < LONGEST) return;
  await new Promise(resolve => { setTimeout(resolve); });
  begin = performance.now();
}

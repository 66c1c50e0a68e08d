// A worker: one call of the module at a time, with messages about its progress.

import { Fairwave } from "./module.js";

/** Milliseconds between two messages. */
const INTERVAL = 50;
let fairwave;

onmessage = ({ data: { module, verb, request } }) => {
  fairwave ??= new Fairwave(module);
  let last = 0;
  const progress = fraction => {
    const now = performance.now();
    if (now - last < INTERVAL) return;
    last = now;
    postMessage({ progress: fraction });
  };
  try {
    const { answer, files = [] } = fairwave[verb](request, progress);
    postMessage({ answer, files }, files.map(({ bytes }) => bytes.buffer));
  } catch (error) {
    const text = `the module ended: ${error.message}; a shorter or smaller scenario may run`;
    postMessage({ answer: { refused: { text, diagnostics: [] } }, files: [] });
  }
};

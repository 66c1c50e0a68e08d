// Makers of runs: the module in workers of this page, or the server that the page came from. Both
// have the same answers.

import { fromBase64 } from "../parquet.js";

/** The error of a run that was cancelled. */
const cancelled = () => new DOMException("the run was cancelled", "AbortError");

/** Status of a server all of whose places for runs stay taken. */
const BUSY = 503;
/** The most workers at the same time. Each has a memory of its own. */
const MOST_WORKERS = 4;

/** Runs in workers of the page. */
export class ModuleEngine {
  /** `module` is the module in gzip and base64, `script` that of the worker. */
  constructor(module, script) {
    this.module = compile(module);
    this.script = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.idle = [];
    this.atOnce = Math.min(navigator.hardwareConcurrency || 2, MOST_WORKERS);
  }

  plan(request, signal) {
    return this.call("plan", request, () => {}, signal);
  }

  run(request, progress, signal) {
    return this.call("run", request, progress, signal);
  }

  /** Means over the runs of a sweep. */
  means(request) {
    return this.call("means", request, () => {});
  }

  async call(verb, request, progress, signal) {
    const module = await this.module;
    if (signal?.aborted) throw cancelled();
    const worker = this.idle.pop() ?? new Worker(this.script);
    return new Promise((resolve, reject) => {
      const end = () => {
        worker.terminate();
        reject(cancelled());
      };
      signal?.addEventListener("abort", end);
      worker.onmessage = ({ data }) => {
        if (!data.answer) return progress(data.progress);
        signal?.removeEventListener("abort", end);
        this.idle.push(worker);
        resolve(data);
      };
      worker.onerror = event => reject(new Error(event.message));
      worker.postMessage({ module, verb, request });
    });
  }
}

async function compile(text) {
  const packed = new Blob([fromBase64(text)]).stream();
  const stream = packed.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** Runs of a server: `fairwave web`. */
export class ServerEngine {
  /** `atOnce` is the number of a sweep's runs that the server makes at the same time. */
  constructor(atOnce) {
    this.atOnce = atOnce;
  }

  async means(request) {
    return { answer: await (await post("means", request)).json() };
  }

  async plan(request, signal) {
    const answer = await (await post("plan", request, signal)).json();
    return { answer };
  }

  /** A run. Its answer comes as lines of JSON, the last of which is the result. */
  async run(request, progress, signal) {
    const { body } = await post("run", request, signal);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let last = null;
    for (;;) {
      const { value, done } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const found = JSON.parse(line);
        if (found.answer) last = found;
        else progress(found.progress);
      }
      if (done) break;
    }
    if (!last) throw new Error("the server ended before the run did");
    const names = last.answer.run?.files ?? [];
    const files = await Promise.all(names.map(async name => {
      const response = await fetch(`files/${last.directory}/${name}`, { signal });
      return { name, bytes: new Uint8Array(await response.arrayBuffer()) };
    }));
    return { answer: last.answer, files };
  }
}

/** The answer to a request, once the server has a place for it. */
async function post(verb, request, signal) {
  const body = JSON.stringify(request);
  const headers = { "content-type": "application/json" };
  for (;;) {
    const response = await fetch(verb, { method: "POST", headers, body, signal });
    if (response.ok) return response;
    const text = await response.text();
    // The server waits for a place before it answers so, and tours take those of a sweep.
    if (response.status !== BUSY) throw new Error(text);
  }
}

// The module fairwave.wasm: plans and runs of scenarios, in a browser or in Node.

/** Makes plans and runs. After a trap, as when memory ends, the next call begins with new memory. */
export class Fairwave {
  /** `module` is a compiled WebAssembly.Module. */
  constructor(module) {
    this.module = module;
  }

  /** Compiles the bytes of fairwave.wasm. */
  static async load(bytes) {
    return new Fairwave(await WebAssembly.compile(bytes));
  }

  /** The runs that a scenario makes, or its errors. */
  plan(request) {
    return { answer: this.call("fairwave_plan", request) };
  }

  /** Makes a run. `progress` gets the finished fraction; the run ends early if it returns false. */
  run(request, progress = () => {}) {
    this.progress = progress;
    const answer = this.call("fairwave_run", request);
    const names = answer.run?.files ?? [];
    const files = names.map((name, i) => ({ name, bytes: this.output("fairwave_file", i) }));
    return { answer, files };
  }

  /** Means over the runs of a sweep. */
  means(request) {
    return { answer: this.call("fairwave_means", request) };
  }

  call(name, request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const { exports } = this.instance ??= this.instantiate();
    const place = exports.fairwave_input(bytes.length);
    new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
    return JSON.parse(new TextDecoder().decode(this.output(name)));
  }

  /** Calls a function that leaves an output, and copies that. */
  output(name, ...parameters) {
    try {
      const { exports } = this.instance;
      const length = exports[name](...parameters);
      return new Uint8Array(exports.memory.buffer, exports.fairwave_output(), length).slice();
    } catch (error) {
      this.instance = null;
      throw error;
    }
  }

  instantiate() {
    const progress = fraction => (this.progress(fraction) === false ? 0 : 1);
    return new WebAssembly.Instance(this.module, { fairwave: { progress } });
  }
}

/** Choice of a run, and settings instead of those of its scenario. */
export interface Options {
  /** The first seed; that of the scenario, if it is left out. */
  seed?: number;
  /** Settings `key=value`, as the command's `--set` takes them. */
  settings?: string[];
  /** Index of the point of the sweep. */
  point?: number;
  /** Name of the scenario in messages. */
  file?: string;
}

export interface RunOptions extends Options {
  /** Gets the finished fraction now and then. The run ends early if it returns `false`. */
  progress?: (fraction: number) => boolean | void;
}

export interface SweepOptions extends RunOptions {
  /** Number of runs of each point; that of the scenario, if it is left out. */
  seeds?: number;
}

/** An error with its place and its remedy. */
export interface Diagnostic {
  file: string;
  line: number;
  column: number;
  key: string;
  message: string;
  accepted: string[];
  nearest: string | null;
  help: string | null;
  source_line: string;
  indent: number;
  width: number;
}

/** A scenario that is wrong, or a run that failed. */
export class ScenarioError extends Error {
  diagnostics: Diagnostic[];
}

/** A point of a sweep. */
export interface Point {
  label: string;
  seed: number;
  seconds: number;
  /** The command that makes the same run. */
  command: string;
}

/** The network of a run. Nodes are named by their index. */
export interface Network {
  /** A station has the access points that it may use, the one of its start first. */
  nodes: { name: string; role: "access_point" | "station" | "host"; access_points: number[] }[];
  /** Wires, with rate and delay of both directions, or of each. */
  links: { ends: [number, number]; paces: string[] }[];
  flows: { name: string; from: number; to: number }[];
}

export interface Plan {
  question: string;
  points: Point[];
  seeds: number;
  /** The command that makes all runs. */
  sweep: string;
  warnings: string[];
  /** Null if there is no point of the wanted index. */
  network: Network | null;
  /** The keys that the text writes, without the settings. */
  written: any;
}

/** Columns by their names: numbers (NaN for null), or texts. */
export type Columns = Record<string, Float64Array | (string | null)[]>;

export interface Run {
  /** The result in sentences. */
  answer: string[];
  /** summary.json, as docs/summary.schema.json describes it. */
  summary: any;
  /** The files of the run directory, the same bytes as the command's. */
  files: Map<string, Uint8Array>;
  /** The columns of a table, such as `flows` or `queues`. */
  table(name: string): Promise<Columns>;
}

/** A figure over the seeds of a point. */
export interface Mean {
  /** Number of runs that measured it. */
  n: number;
  mean: number;
  std_dev: number;
  /** Half the width of the 95 % confidence interval of the mean; null for one run. */
  half_width: number | null;
}

/** A point over its seeds. */
export interface MeanPoint {
  /** Keys of the sweep with their values there. */
  axes: Record<string, string>;
  seeds: number[];
  /** Its figures, by names such as `flow.up.delay_p99_ms`. */
  metrics: Record<string, Mean>;
}

export interface Means {
  points: MeanPoint[];
  /** The result in sentences. */
  answer: string[];
  /** The points as `fairwave sweep --csv` prints them. */
  csv: string;
}

/** Compiles the module, once; after a failure the next call tries again. In browsers whose bundler
 * moves it, pass its bytes or a response. */
export function load(source?: BufferSource | Response | Promise<BufferSource | Response>):
  Promise<unknown>;
/** The points of a scenario's sweep. Throws a ScenarioError. */
export function plan(text: string, options?: Options): Promise<Plan>;
/** Makes a run. It blocks its thread: in a page, call it in a worker. Throws a ScenarioError. */
export function run(text: string, options?: RunOptions): Promise<Run>;
/** Makes the runs of all points with some seeds, in the same way. Throws a ScenarioError. */
export function sweep(text: string, options?: SweepOptions): Promise<Means>;

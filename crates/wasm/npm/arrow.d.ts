import type { Table } from "apache-arrow";
import type { Run } from "./index.js";

/** A table of a run, such as `flows`, with the exact types of its file: integers are 64 bits wide,
 * names a dictionary, and unknown values null. Fields have `unit` and `description` as metadata. */
export function arrowTable(run: Pick<Run, "files">, name: string): Promise<Table>;

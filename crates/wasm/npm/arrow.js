// Tables of a run as Arrow tables, by the package apache-arrow.

import { Bool, Dictionary, Field, Float32, Float64, Int32, Int64, Schema, Table as ArrowTable, Uint32,
  Uint64, Utf8, vectorFromArray } from "apache-arrow";
import { Table } from "./parquet.js";

/** The Arrow type of a column of a Parquet file. */
function typeOf({ name, type, converted_type: converted = "" }) {
  const isUnsigned = converted.startsWith("UINT");
  switch (type) {
    case "BOOLEAN": return new Bool();
    case "INT32": return isUnsigned ? new Uint32() : new Int32();
    case "INT64": return isUnsigned ? new Uint64() : new Int64();
    case "FLOAT": return new Float32();
    case "DOUBLE": return new Float64();
    case "BYTE_ARRAY": return new Dictionary(new Utf8(), new Int32());
    default: throw new TypeError(`column ${name}: ${type} has no Arrow type here`);
  }
}

/** A table of a run with the exact types of its file; its fields have unit and description. */
export async function arrowTable(run, name) {
  const bytes = run.files.get(`${name}.parquet`);
  if (!bytes) throw new Error(`the run has no table ${name}`);
  const table = new Table(bytes);
  const vectors = {};
  const fields = [];
  for (const element of table.metadata.schema.slice(1)) {
    const values = [];
    await table.general(element.name, data => { for (const value of data) values.push(value); });
    const notes = ["unit", "description"].map(note =>
      [note, table.notes.get(`${element.name}.${note}`) ?? ""]);
    const isNullable = element.repetition_type === "OPTIONAL";
    const type = typeOf(element);
    fields.push(new Field(element.name, type, isNullable, new Map(notes.filter(([, text]) => text))));
    vectors[element.name] = vectorFromArray(values, type);
  }
  return new ArrowTable(new Schema(fields), vectors);
}

// Columns of a table that the laboratory wrote. The test of the crate names it and its values.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fromBase64, Table } from "../src/parquet.js";

/** The first time of the table. */
const START = 1_700_000_000_000_000_001n;

const { TABLE, VALUES } = process.env;
const skip = TABLE ? false : "it needs the table that `cargo test -p fairwave-show` writes";

test("columns are read as they were written", { skip }, async () => {
  const table = new Table(new Uint8Array(readFileSync(TABLE)));
  const expected = JSON.parse(readFileSync(VALUES));
  assert.equal(table.rows, expected.numbers.length);
  assert.deepEqual([...await table.numbers("value")], expected.numbers);
  assert.deepEqual([...await table.numbers("maybe_ns")],
    expected.maybe.map(value => value ?? NaN));
  const { names, codes } = await table.names("name");
  assert.deepEqual(Array.from(codes, code => names[code]), expected.names);
  assert.equal(table.about("maybe_ns"), "A number, or none.");
  assert.ok(table.has("name") && !table.has("other"));
});

test("columns in pieces are those of the file", { skip }, async () => {
  const file = new Uint8Array(readFileSync(TABLE));
  const length = new DataView(file.buffer, file.byteOffset + file.length - 8).getUint32(0, true);
  const asked = [];
  const source = {
    footer: file.subarray(file.length - 8 - length),
    async chunks(name, places) {
      asked.push(name);
      return places.map(({ start, size }) => file.slice(start, start + size));
    },
  };
  const [whole, table] = [new Table(file), new Table(source)];
  assert.ok(table.metadata.row_groups.length > 1);
  assert.deepEqual(await table.numbers("maybe_ns"), await whole.numbers("maybe_ns"));
  assert.deepEqual(await table.names("name"), await whole.names("name"));
  const times = of => of.numbers("at_unix_ns", START);
  assert.deepEqual(await times(table), await times(whole));
  assert.deepEqual(asked, ["maybe_ns", "name", "at_unix_ns"], "only what is used");
});

test("the general decoder of hyparquet agrees", { skip }, async () => {
  const table = new Table(new Uint8Array(readFileSync(TABLE)));
  const values = [];
  await table.general("maybe_ns", data => {
    for (const value of data) values.push(value === null ? NaN : Number(value));
  });
  assert.deepEqual(values, [...await table.numbers("maybe_ns")]);
});

test("times since 1970 keep their nanoseconds", { skip }, async () => {
  const table = new Table(new Uint8Array(readFileSync(TABLE)));
  const times = await table.numbers("at_unix_ns", START);
  assert.deepEqual([...times.subarray(0, 4)], [0, 3, 6, 9]);
  assert.equal(times.at(-1), 3 * (table.rows - 1));
});

test("base64 is decoded", () => {
  assert.deepEqual([...fromBase64(" AQID/w==\n")], [1, 2, 3, 255]);
});

// Reads single columns of a Parquet file into typed arrays.
//
// hyparquet reads the file's metadata and unpacks its pages. Of its decoders only the general one
// is used, and only where a file is not as Fairwave writes it: it makes a BigInt of each integer
// and a string of each name, which takes three times as long. Here integers become doubles, and
// names become numbers of a dictionary.

import { parquetMetadata, parquetRead, snappyUncompress } from "hyparquet";
import { deserializeTCompactProtocol } from "hyparquet/src/thrift.js";
import { breathe } from "./breathe.js";

const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const DELTA_BINARY_PACKED = 5;
const DICTIONARY_INDICES = [2, 8];
/** Bytes behind the end of an unpacked page, so that whole words can be read up to its end. */
const SPARE = 8;
/** Bits of the widest difference whose sums stay exact in a double. */
const WIDEST = 52;

/** The bytes of a base64 text. */
export function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text.trim());
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** A whole Parquet file in memory. */
class Whole {
  constructor(bytes) {
    this.footer = bytes;
  }

  /** The bytes of a column at `places`, one for each row group. */
  async chunks(_, places) {
    return places.map(({ start, size }) => this.footer.subarray(start, start + size));
  }
}

/** A table in a Parquet file: its bytes, or a `source` of its `footer` and its `chunks`. Each
 * column is read when it is first used. */
export class Table {
  constructor(source) {
    this.source = source instanceof Uint8Array ? new Whole(source) : source;
    this.metadata = parquetMetadata(this.source.footer);
    this.rows = Number(this.metadata.num_rows);
    this.columns = this.metadata.schema.slice(1).map(column => ({
      name: column.name,
      isText: column.type === "BYTE_ARRAY",
    }));
    const entries = this.metadata.key_value_metadata ?? [];
    this.notes = new Map(entries.map(({ key, value }) => [key, value]));
    this.read = new Map();
  }

  /** Whether the table has this column. */
  has(name) {
    return this.columns.some(column => column.name === name);
  }

  /** The description of a column. */
  about(name) {
    return this.notes.get(`${name}.description`) ?? "";
  }

  /** A column of integers less `base`, as a Float64Array with NaN for null. */
  numbers(name, base = 0n) {
    return this.once(`${name} ${base}`, () => {
      const values = new Float64Array(this.rows);
      return this.fill(name, (chunk, at) => numbersOf(chunk, base, values, at), values, value =>
        value === null || value === undefined ? NaN : Number(BigInt(value) - base));
    });
  }

  /** A column of text: the distinct names, and for each row the number of its name; 0 is null. */
  names(name) {
    return this.once(name, async () => {
      const names = [null];
      const known = new Map();
      const codeOf = text => {
        if (!known.has(text)) known.set(text, names.push(text) - 1);
        return known.get(text);
      };
      const codes = new Uint32Array(this.rows);
      await this.fill(name, (chunk, at) => codesOf(chunk, codeOf, codes, at), codes, value =>
        value === null || value === undefined ? 0 : codeOf(value));
      return { names, codes };
    });
  }

  once(key, make) {
    if (!this.read.has(key)) this.read.set(key, make());
    return this.read.get(key);
  }

  /** Fills `out` by `fast`, or by `slow` for each value if the file has an unusual encoding. */
  async fill(name, fast, out, slow) {
    const chunks = await this.chunks(name);
    try {
      let at = 0;
      for (const chunk of chunks) {
        fast(chunk, at);
        at += chunk.rows;
        await breathe();
      }
    } catch (error) {
      if (!(error instanceof Unusual)) throw error;
      let at = 0;
      await this.general(name, data => { for (const value of data) out[at++] = slow(value); });
    }
    return out;
  }

  /** A column in each row group. */
  async chunks(name) {
    const element = this.metadata.schema.find(one => one.name === name);
    const found = this.metadata.row_groups.map(group => new Chunk(element, group, name));
    const bytes = await this.source.chunks(name, found.map(({ place }) => place));
    found.forEach((chunk, i) => { chunk.bytes = bytes[i]; });
    return found;
  }

  /** Passes the values of a column to `take` as hyparquet decodes them. */
  async general(name, take) {
    const chunks = await this.chunks(name);
    const ends = chunks.map(({ place: { start, size } }) => start + size);
    const slice = (from, to = Math.max(...ends)) => {
      const bytes = new Uint8Array(to - from);
      for (const { place: { start }, bytes: own } of chunks) {
        const skip = Math.max(from - start, 0);
        if (start < to) bytes.set(own.subarray(skip, to - start), start + skip - from);
      }
      return bytes.buffer;
    };
    const file = { byteLength: Math.max(...ends), slice };
    const options = { file, metadata: this.metadata, columns: [name] };
    await parquetRead({ ...options, onChunk: ({ columnData }) => take(columnData) });
  }
}

/** An encoding or a compression that Fairwave does not write. */
class Unusual extends Error {}

/** A column within one row group: its pages, unpacked from its `bytes`. */
class Chunk {
  constructor(element, group, name) {
    const column = group.columns.find(one => one.meta_data.path_in_schema[0] === name);
    if (!column) throw new Error(`there is no column ${name}`);
    this.meta = column.meta_data;
    this.rows = Number(group.num_rows);
    this.isNullable = element.repetition_type === "OPTIONAL";
    const first = this.meta.dictionary_page_offset ?? this.meta.data_page_offset;
    this.place = {
      start: Math.min(Number(first), Number(this.meta.data_page_offset)),
      size: Number(this.meta.total_compressed_size),
    };
  }

  /** Calls `page(header, cursor)` for each page. */
  eachPage(page) {
    if (!["SNAPPY", "UNCOMPRESSED"].includes(this.meta.codec)) throw new Unusual();
    const { buffer, byteOffset, byteLength } = this.bytes;
    const reader = { view: new DataView(buffer, byteOffset, byteLength), offset: 0 };
    while (reader.offset < reader.view.byteLength) {
      const header = deserializeTCompactProtocol(reader);
      const packed = new Uint8Array(buffer, byteOffset + reader.offset, header.field_3);
      reader.offset += header.field_3;
      const bytes = new Uint8Array(header.field_2 + SPARE);
      if (this.meta.codec === "UNCOMPRESSED") bytes.set(packed);
      else if (header.field_2) snappyUncompress(packed, bytes.subarray(0, header.field_2));
      page(header, { bytes, view: new DataView(bytes.buffer), at: 0 });
    }
  }

  /** Calls `values(encoding, cursor, count, places)` for each data page: `count` values follow at
   * the cursor, for the rows `places`, or for the next `count` rows if that is null. */
  eachData(dictionary, values) {
    let row = 0;
    this.eachPage((header, cursor) => {
      if (header.field_1 === DICTIONARY_PAGE) return dictionary(header.field_7.field_1, cursor);
      if (header.field_1 !== DATA_PAGE) throw new Unusual();
      const { field_1: rows, field_2: encoding } = header.field_5;
      const places = this.isNullable ? present(cursor, rows, row) : null;
      values(encoding, cursor, places ? places.length : rows, places, row);
      row += rows;
    });
    if (row !== this.rows) throw new Unusual();
  }
}

/** The rows of a page that have a value, from `first` on. */
function present(cursor, rows, first) {
  const length = cursor.view.getUint32(cursor.at, true);
  const levels = { ...cursor, at: cursor.at + 4 };
  cursor.at += 4 + length;
  const places = new Uint32Array(rows);
  let count = 0;
  runs(levels, 1, rows, (level, i) => { if (level) places[count++] = first + i; });
  return places.subarray(0, count);
}

function numbersOf(chunk, base, out, offset) {
  if (chunk.isNullable) out.fill(NaN, offset, offset + chunk.rows);
  chunk.eachData(() => { throw new Unusual(); }, (encoding, cursor, count, places, row) => {
    if (encoding !== DELTA_BINARY_PACKED) throw new Unusual();
    if (count === 0) return;
    const target = places ? new Float64Array(count) : out.subarray(offset + row);
    deltas(cursor, base, count, target);
    if (places) places.forEach((place, i) => { out[offset + place] = target[i]; });
  });
}

function codesOf(chunk, codeOf, out, offset) {
  let own = [];
  const dictionary = (size, cursor) => {
    const text = new TextDecoder();
    own = Array.from({ length: size }, () => {
      const length = cursor.view.getUint32(cursor.at, true);
      cursor.at += 4 + length;
      return codeOf(text.decode(cursor.bytes.subarray(cursor.at - length, cursor.at)));
    });
  };
  chunk.eachData(dictionary, (encoding, cursor, count, places, row) => {
    if (!DICTIONARY_INDICES.includes(encoding)) throw new Unusual();
    const width = cursor.bytes[cursor.at++];
    runs(cursor, width, count, (code, i) => {
      out[offset + (places ? places[i] : row + i)] = own[code];
    });
  });
}

/** A variable-length integer as a BigInt, since it may have 64 bits. */
function varint(cursor) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = cursor.bytes[cursor.at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

function zigzag(cursor) {
  const value = varint(cursor);
  return value >> 1n ^ -(value & 1n);
}

/** Passes `count` values of RLE and bit-packed runs, each with its index (Parquet's encoding 3). */
function runs(cursor, width, count, take) {
  let done = 0;
  while (done < count) {
    const head = Number(varint(cursor));
    if (head & 1) {
      const end = Math.min(done + (head >> 1) * 8, count);
      for (let bit = 0; done < end; bit += width) take(bits(cursor, bit, width), done++);
      cursor.at += (head >> 1) * width;
    } else {
      const value = bits(cursor, 0, width);
      cursor.at += width + 7 >> 3;
      for (const end = Math.min(done + (head >> 1), count); done < end; done++) take(value, done);
    }
  }
}

/** The unsigned number of `width` bits that begins `bit` bits behind the cursor. Bytes behind the
 * end of a page may be read: each has some to spare. */
function bits(cursor, bit, width) {
  if (width === 0) return 0;
  const at = cursor.at + (bit >>> 3);
  const skip = bit & 7;
  const low = cursor.view.getUint32(at, true) >>> skip;
  if (width <= 32 - skip) return width === 32 ? low : low & ~(-1 << width);
  // The rest is added as a double: `|` knows 32 bits.
  const more = width - 32 + skip;
  const high = cursor.view.getUint32(at + 4, true);
  const part = more >= 32 ? high : (high & ~(-1 << more)) >>> 0;
  return low + part * 2 ** (32 - skip);
}

/** Decodes DELTA_BINARY_PACKED (Parquet's encoding 5): blocks of miniblocks, each of which has a
 * width in bits, and the differences above the smallest one of the block. */
function deltas(cursor, base, count, out) {
  const blockSize = Number(varint(cursor));
  const miniblocks = Number(varint(cursor));
  varint(cursor);
  // The sum is kept relative to `base`: a double holds nanoseconds of 104 days, not of 50 years.
  let value = Number(zigzag(cursor) - base);
  out[0] = value;
  let done = 1;
  const each = blockSize / miniblocks;
  while (done < count) {
    const least = Number(zigzag(cursor));
    if (Math.abs(least) > 2 ** WIDEST || !Number.isSafeInteger(value)) throw new Unusual();
    const widths = cursor.at;
    cursor.at += miniblocks;
    for (let m = 0; m < miniblocks && done < count; m++) {
      const width = cursor.bytes[widths + m];
      if (width > WIDEST) throw new Unusual();
      const here = Math.min(each, count - done);
      for (let i = 0; i < here; i++) {
        value += least + bits(cursor, i * width, width);
        out[done++] = value;
      }
      cursor.at += each * width >> 3;
    }
  }
}

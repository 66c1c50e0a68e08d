// Numbers and units as people read them.

/** Endings of column names: the factor to the unit that is shown, and that unit. */
const UNITS = [
  ["_unix_ns", 1e-9, "s"],
  ["_ns", 1e-6, "ms"],
  ["_bps", 1e-6, "Mbps"],
  ["_bytes", 1e-3, "kB"],
  ["_millidb", 1e-3, "dB"],
  ["_dbm", 1, "dBm"],
  ["_db", 1, "dB"],
  ["_ppm", 1e-4, "%"],
  ["_per_billion", 1e-7, "%"],
  ["_milli", 1e-3, ""],
  ["_packets", 1, "packets"],
  ["_slots", 1, "slots"],
  ["_mhz", 1, "MHz"],
  ["_mbps", 1, "Mbps"],
  ["_ms", 1, "ms"],
  ["_percent", 1, "%"],
  ["_s", 1, "s"],
];

/** A column's name in words, with the factor and the unit in which it is shown. */
export function unitOf(column) {
  const found = UNITS.find(([ending]) => column.endsWith(ending));
  const [ending, factor, unit] = found ?? ["", 1, ""];
  const words = column.slice(0, column.length - ending.length).replaceAll("_", " ");
  return { words, factor, unit };
}

/** The unit in the brackets at the end of an axis's name, such as "Time (s)". */
export function unitIn(label) {
  return /[[(]([^\])]+)[\])]$/.exec(label)?.[1] ?? "";
}

/** A number with four significant digits, without an exponent where one can do without. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(2);
  return String(size >= 1000 ? Math.round(value) : Number(value.toPrecision(4)));
}

/** A number with its unit. */
export function quantity(value, unit) {
  return unit && number(value) !== "–" ? `${number(value)} ${unit}` : number(value);
}

/** A time in seconds, with as many digits as a range of `span` seconds needs. */
export function seconds(value, span) {
  const digits = Math.min(Math.max(Math.ceil(2 - Math.log10(span || 1)), 0), 9);
  return `${value.toFixed(digits)} s`;
}

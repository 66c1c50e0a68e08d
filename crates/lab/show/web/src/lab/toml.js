// The place of the caret in the TOML of a scenario: which table, key or value is written there.

const HEADER = /^[ \t]*\[\[?[ \t]*([\w.-]+)[ \t]*\]\]?/;
const joined = (...parts) => parts.filter(Boolean).join(".");

/** The header above a place, and the bounds of the block below it. */
function block(text, at) {
  let [path, from] = ["", 0];
  let place = 0;
  for (const line of text.split("\n")) {
    const end = place + line.length;
    const found = HEADER.exec(line);
    if (found && place > at) return { path, from, to: place };
    if (found && end < at) [path, from] = [found[1], end + 1];
    place = end + 1;
  }
  return { path, from: Math.min(from, text.length), to: text.length };
}

/** A table that is being read: its keys so far, and the statement at its end, which begins at
 * `begin`; an inline table begins there. The last word of it begins at `from`. */
const frame = from => ({ key: "", isValue: false, from, begin: from, arrays: 0, keys: {} });

/** Reads statements from a place to another. The frames are the inline tables that are open at the
 * end, the outermost first; null within a comment. */
function read(text, from, to) {
  let frames = [frame(from)];
  let quote = null;
  let isComment = false;
  const note = (top, end) => {
    if (top.isValue) top.keys[top.key] = text.slice(top.value, end).trim();
  };
  for (let i = from; i < to; i++) {
    const letter = text[i];
    const top = frames.at(-1);
    if (letter === "\n") {
      [quote, isComment] = [null, false];
      if (top.arrays > 0) continue;
      note(frames[0], i);
      frames = [Object.assign(frame(i + 1), { keys: frames[0].keys })];
    } else if (isComment) continue;
    else if (quote) {
      if (letter === quote && text[i - 1] !== "\\") quote = null;
    } else if (letter === "\"" || letter === "'") quote = letter;
    else if (letter === "#") isComment = true;
    else step(text, frames, i, note);
  }
  return isComment ? null : frames;
}

/** One letter outside of texts and comments. */
function step(text, frames, i, note) {
  const top = frames.at(-1);
  const actions = {
    "=": () => {
      if (top.isValue) return;
      Object.assign(top, { key: text.slice(top.from, i).trim(), isValue: true, from: i + 1,
        value: i + 1 });
    },
    "{": () => frames.push(frame(i + 1)),
    "}": () => { if (frames.length > 1) frames.pop(); },
    "[": () => Object.assign(top, { from: i + 1, arrays: top.arrays + 1 }),
    "]": () => { top.arrays = Math.max(top.arrays - 1, 0); },
    ",": () => {
      if (top.arrays > 0) top.from = i + 1;
      else if (frames.length > 1) {
        note(top, i);
        Object.assign(top, { key: "", isValue: false, from: i + 1 });
      }
    },
  };
  actions[text[i]]?.();
}

/**
 * The place of the caret: `kind` is `header`, `key` or `value`, `table` the dotted table, `key` the
 * key of a value, `from` and `to` the bounds of the word there, and `keys` what its table writes
 * elsewhere. Null within a comment.
 */
export function place(text, at) {
  const begin = text.lastIndexOf("\n", at - 1) + 1;
  const line = text.slice(begin, at);
  if (/^[ \t]*\[\[?[\w.-]*$/.test(line)) {
    const from = begin + line.indexOf("[");
    const [rest] = /^[\w.-]*\]{0,2}/.exec(text.slice(at));
    return { kind: "header", table: "", from, to: at + rest.length, word: text.slice(from, at) };
  }
  const { path, from: start, to: end } = block(text, at);
  const frames = read(text, start, at);
  if (!frames) return null;
  const top = frames.at(-1);
  const outer = frames.slice(0, -1).map(({ key }) => key);
  const word = text.slice(top.from, at).trimStart();
  const from = at - word.length;
  if (word.includes("\n")) return null;
  const keys = frames.length > 1 ? inner(text, at, top) : others(text, start, end, top.begin);
  if (top.isValue) {
    const [rest] = /^[^"'\],}\n#]*["']?/.exec(/^["']/.test(word) ? text.slice(at) : "");
    const [dotted, key] = split(top.key);
    return { kind: "value", table: joined(path, ...outer, dotted), key, from, to: at + rest.length,
      word, keys };
  }
  const [rest] = /^[\w-]*/.exec(text.slice(at));
  const [dotted, name] = split(word);
  const to = at + rest.length;
  return { kind: "key", table: joined(path, ...outer, dotted), from: at - name.length, to,
    word: name, keys, isWritten: /^[ \t]*=/.test(text.slice(to)) };
}

/** A dotted key: what is before its last name, and that. */
function split(key) {
  const at = key.lastIndexOf(".") + 1;
  return [key.slice(0, Math.max(at - 1, 0)), key.slice(at)];
}

/** The keys of an inline table around the caret, apart from the one at it. */
function inner(text, at, { begin, key }) {
  const [rest] = /^[^}\n]*/.exec(text.slice(at));
  const written = text.slice(begin, at) + rest;
  const pairs = [...written.matchAll(/([\w.-]+)[ \t]*=[ \t]*("[^"]*"|'[^']*'|[^,{}]*)/g)];
  const apart = pairs.filter(({ 1: name, index }) =>
    name !== key && (index > at - begin || index + name.length < at - begin));
  return Object.fromEntries(apart.map(([, name, value]) => [name, value.trim()]));
}

/** The keys of a block, apart from the statement that begins at `own`. */
function others(text, start, end, own) {
  const frames = read(text, start, end) ?? [frame(end)];
  const keys = { ...frames[0].keys };
  if (frames[0].isValue) keys[frames[0].key] = text.slice(frames[0].value, end).trim();
  const [statement] = text.slice(own, end).split("\n");
  delete keys[/^\s*([\w.-]+)\s*=/.exec(statement)?.[1]];
  return keys;
}

/** Names of the nodes, and patterns for groups of them. */
export function nodes(text) {
  const blocks = text.split(/^(?=[ \t]*\[)/m);
  return blocks.filter(part => /^[ \t]*\[\[node\]\]/.test(part)).flatMap(part => {
    const name = /^[ \t]*name[ \t]*=[ \t]*"([^"]+)"/m.exec(part)?.[1];
    const isGroup = /^[ \t]*count[ \t]*=/m.test(part);
    return name ? [isGroup ? `${name}*` : name] : [];
  });
}

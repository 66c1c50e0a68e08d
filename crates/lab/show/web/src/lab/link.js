// Links that carry a scenario in their fragment, which no server sees, and links to pages of runs.

const PREFIX = "#s=";
/** Characters of a fragment that browsers and messengers pass on. */
export const MAX_LENGTH = 8000;

async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** The fragment that carries `state`. */
export async function fragmentOf(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  const text = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return PREFIX + text;
}

/** The address of the page of a run, from that of the laboratory. Directories may have `#` and `?` in
 * their names. */
export function pageOf(run) {
  return `show/${run.split("/").map(encodeURIComponent).join("/")}`;
}

/** A number in a link; null where there is none. 0 is a number. */
function numberOf(value) {
  return Number.isFinite(value) ? value : null;
}

/** The state in a fragment; null where there is none. A damaged one is an error. */
export async function stateOf(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  try {
    const text = fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/");
    const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const bytes = await through(packed, new DecompressionStream("deflate-raw"));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof state.text !== "string") throw new Error("there is no scenario in it");
    return {
      file: String(state.file ?? "shared.toml"), text: state.text,
      settings: (state.settings ?? []).map(String), seed: numberOf(state.seed),
      point: Number(state.point) || 0, seeds: Number(state.seeds) || null,
    };
  } catch (error) {
    throw new Error(`the link is damaged: ${error.message}`, { cause: error });
  }
}

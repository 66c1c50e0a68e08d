// A plain static server of this machine.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, resolve } from "node:path";

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript",
  ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
  ".wasm": "application/wasm" };

/** Serves the files below `root`. `at` makes an address of a path. */
export async function serve(root) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = path.endsWith("/") ? `${path}index.html` : path;
    try {
      const bytes = await readFile(join(resolve(root), file));
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise(listening => server.listen(0, "127.0.0.1", listening));
  return { at: path => `http://127.0.0.1:${server.address().port}/${path}`,
    close: () => server.close() };
}

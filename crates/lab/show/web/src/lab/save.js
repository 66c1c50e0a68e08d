// Files for the reader.

/** Saves `content` as a file of this name. */
export function save(name, content) {
  const address = URL.createObjectURL(new Blob([content]));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// Work for what is on the screen: elsewhere it waits.

import { nextFrame } from "./dom.js";

const waiting = new Map();
const watcher = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) waiting.get(target)?.see(isIntersecting);
}, { rootMargin: "50px" });

// Paper shows everything.
addEventListener("beforeprint", () => {
  for (const one of waiting.values()) one.now();
});

/** Work for an element, in the frame after it was asked for, or once it is on the screen. */
export class Later {
  constructor(element, work) {
    Object.assign(this, { element, work });
    this.next = nextFrame(() => { if (this.isVisible) this.now(); });
    waiting.set(element, this);
    watcher.observe(element);
  }

  /** Asks for the work. */
  ask() {
    this.isDue = true;
    if (this.isVisible) this.next();
  }

  see(isVisible) {
    this.isVisible = isVisible;
    if (isVisible && this.isDue) this.next();
  }

  /** Does the work at once if it was asked for. */
  now() {
    if (!this.isDue) return;
    this.isDue = false;
    this.work();
  }

  /** Ends it. */
  close() {
    waiting.delete(this.element);
    watcher.unobserve(this.element);
  }
}

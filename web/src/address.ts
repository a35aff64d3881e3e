// The state of the page in its address, so that a colleague who opens the same file with the same address sees the same
// thing:  report.html#cases&k=1.5&show=wrong&notes=...
// A part without "=" is the section to scroll to. Unknown names and percent signs that encode nothing are ignored; each
// part of the state checks its own value.
interface Part {
  name: string;
  read: () => string | null;
  apply: (text: string) => void;
}

const parts: Part[] = [];
let section = "";
let later = 0;
let restoring = false;
const listeners: (() => void)[] = [];

/** A part of the state: `read` gives its text, null where it is as at first; `apply` takes a text from an address.
 * Parts are applied in the order in which they were named. */
export function inAddress(name: string, read: () => string | null, apply: (text: string) => void): void {
  parts.push({ name, read, apply });
}

/** The part of the address after the file's name. */
export function addressHash(): string {
  const state = parts.flatMap(({ name, read }) => {
    const text = read();
    return text === null ? [] : [`${name}=${encodeURIComponent(text)}`];
  });
  return `#${[...(section ? [section] : []), ...state].join("&")}`;
}

/** Called with every new address. */
export const onAddress = (listener: () => void): void => void listeners.push(listener);

function write(): void {
  const hash = addressHash();
  if (hash !== (location.hash || "#")) history.replaceState(null, "", hash);
  for (const listener of listeners) listener();
}

/** Call after a change. The address is updated once changes have paused, because browsers limit how often it may be. */
export function changed(): void {
  if (restoring) return;
  clearTimeout(later);
  later = window.setTimeout(write, 250);
}

function parse(hash: string): Map<string, string> {
  const found = new Map<string, string>();
  section = "";
  for (const piece of hash.replace(/^#/, "").split("&")) {
    const equals = piece.indexOf("=");
    if (equals < 0) {
      if (/^[a-z-]+$/.test(piece)) section = piece;
      continue;
    }
    try {
      found.set(piece.slice(0, equals), decodeURIComponent(piece.slice(equals + 1)));
    } catch {
      // not the encoding of a text
    }
  }
  return found;
}

/** Scrolls to a section and stays there while plots above it, which are drawn on the way, change their heights: until
 * the reader does something, at most two seconds. */
function stayAt(target: HTMLElement): void {
  const scroll = (): void => target.scrollIntoView({ behavior: "instant" });
  const sizes = new ResizeObserver(scroll);
  const stop = (): void => sizes.disconnect();
  scroll();
  sizes.observe(document.body);
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(kind, stop, { once: true, passive: true });
  setTimeout(stop, 2000);
}

/** Sets the page to the state in its address, now and whenever the address is changed by hand or by a link. */
export function followAddress(): void {
  const restore = (): void => {
    const found = parse(location.hash);
    restoring = true;
    for (const { name, apply } of parts) {
      const text = found.get(name);
      if (text !== undefined) apply(text);
    }
    restoring = false;
    const target = section ? document.getElementById(section) : null;
    if (target) stayAt(target);
    write();
  };
  restore();
  addEventListener("hashchange", restore);
}

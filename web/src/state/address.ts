// The address bar, written a moment after the last change: browsers refuse hundreds of writes a minute, and a drag
// makes them.
const PAUSE_MS = 150;

let waiting: ReturnType<typeof setTimeout> | undefined;
let latest = "";

function flush(): void {
  if (waiting === undefined) return;
  clearTimeout(waiting);
  waiting = undefined;
  history.replaceState(null, "", latest);
}
addEventListener("pagehide", flush);

export function write_soon(fragment: string): void {
  latest = fragment;
  if (waiting !== undefined) clearTimeout(waiting);
  waiting = setTimeout(flush, PAUSE_MS);
}

// Another entry of the history: what was on its way belongs to the one before.
export function write_entry(fragment: string): void {
  flush();
  history.pushState(null, "", fragment);
}

export const is_waiting = (): boolean => waiting !== undefined;

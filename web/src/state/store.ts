// The one place where the page's state is held: read from the fragment, written to it, told to who listens.
import { useLayoutEffect, useState } from "preact/hooks";
import { is_waiting, write_entry, write_soon } from "./address";
import { format_fragment, parse_fragment, type State, type View, type Words } from "./fragment";

let state: State = parse_fragment(location.hash);
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

export const current = (): State => state;

// A changed word replaces the entry in the history (a drag would fill it), another view adds one.
export function change(words: Words, view: View = state.view): void {
  const merged: Record<string, string> = { ...state.words, ...words };
  for (const key of Object.keys(merged)) if (merged[key] === "") delete merged[key];
  const added = view !== state.view;
  state = { view, words: merged };
  (added ? write_entry : write_soon)(format_fragment(state));
  performance.mark("change");
  tell();
}

// Another question altogether: what was asked before is forgotten.
export function replace(words: Words, view: View = state.view): void {
  state = { view, words: {} };
  change(words, view);
}

export function follow_history(): void {
  const read = (): void => {
    if (is_waiting() || location.hash === format_fragment(state)) return;
    state = parse_fragment(location.hash);
    tell();
  };
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}

export function use_state(): State {
  const [seen, set_seen] = useState(state);
  useLayoutEffect(() => {
    const listener = (): void => set_seen(state);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return seen;
}

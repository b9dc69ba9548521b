// The part of the step that is looked at, in nanoseconds, and what a hand or a key makes of it.

export interface Window {
  readonly from: number;
  readonly to: number;
}

const LEAST_NS = 200;

// Inside the step, never narrower than the least.
export function kept_inside(seen: Window, step: number): Window {
  const span = Math.min(Math.max(seen.to - seen.from, LEAST_NS), step);
  const from = Math.min(Math.max(seen.from, 0), step - span);
  return { from, to: from + span };
}

// `factor` under 1 looks closer; what lies at `share` of the width stays there.
export function zoomed(seen: Window, factor: number, share: number, step: number): Window {
  const at = seen.from + (seen.to - seen.from) * share;
  const span = Math.min(Math.max((seen.to - seen.from) * factor, LEAST_NS), step);
  return kept_inside({ from: at - span * share, to: at + span * (1 - share) }, step);
}

// By a share of what is seen; positive: later.
export function panned(seen: Window, share: number, step: number): Window {
  const by = (seen.to - seen.from) * share;
  return kept_inside({ from: seen.from + by, to: seen.to + by }, step);
}

// So that a bar can be seen, moved no further than it takes.
export function showing(seen: Window, from: number, to: number, step: number): Window {
  if (from >= seen.from && to <= seen.to) return seen;
  const span = Math.max(seen.to - seen.from, (to - from) * 1.5);
  const middle = (from + to) / 2;
  return kept_inside({ from: middle - span / 2, to: middle + span / 2 }, step);
}

// In the link: microseconds, "1200-5400.5".
export const window_text = (seen: Window): string => `${+(seen.from / 1e3).toFixed(3)}-${+(seen.to / 1e3).toFixed(3)}`;
export function window_of(text: string, step: number): Window {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (!found || Number(found[2]) <= Number(found[1])) return { from: 0, to: step };
  return kept_inside({ from: Number(found[1]) * 1e3, to: Number(found[2]) * 1e3 }, step);
}

// A timeline as rows of bars in order of time: what is drawn, and what is found under a hand.
import type { Timeline } from "./answer";

// Of each stage, from above: what the step waits for, its passes (waits behind them), messages, and what comes after.
export type RowKind = "path" | "passes" | "messages" | "after";
export const ROW_KINDS: readonly RowKind[] = ["path", "passes", "messages", "after"];

export interface Row {
  readonly kind: RowKind;
  readonly place: number;        // of its stage, among those shown
  readonly from: Float64Array;   // ns, ascending
  readonly to: Float64Array;
  readonly tone: Uint8Array;     // which of TONES
  readonly item: Int32Array;     // the event; of a wait -1 - its place; of the path its place
}

export interface Scene {
  readonly timeline: Timeline;
  readonly rows: readonly Row[];
  readonly bars: number;
}

export const TONES = ["work-2", "work-1", "work-3", "work-4", "exchange-1", "exchange-2", "exchange-3", "wait-2", "ink"] as const;
const WAIT = TONES.indexOf("wait-2");
const INK = TONES.indexOf("ink");

const KIND_TONES: Readonly<Record<string, (typeof TONES)[number]>> = {
  forward: "work-2", backward: "work-1", "backward to inputs": "work-1", "backward to weights": "work-3",
  optimizer: "work-4", "gradient reduce": "exchange-2", "parameter gather": "exchange-3",
};
const tone_of = (kind: string): number => TONES.indexOf(KIND_TONES[kind] ?? "exchange-1");

interface Bar {
  from: number;
  to: number;
  tone: number;
  item: number;
}

function row_of(kind: RowKind, place: number, bars: Bar[]): Row {
  bars.sort((a, b) => a.from - b.from || a.to - b.to);
  return {
    kind, place,
    from: Float64Array.from(bars, (bar) => bar.from),
    to: Float64Array.from(bars, (bar) => bar.to),
    tone: Uint8Array.from(bars, (bar) => bar.tone),
    item: Int32Array.from(bars, (bar) => bar.item),
  };
}

const PASSES = 0;
const TO_NEXT = 1;
const TO_PREVIOUS = 2;
const row_of_lane = (lane: number): RowKind =>
  lane === PASSES ? "passes" : lane === TO_NEXT || lane === TO_PREVIOUS ? "messages" : "after";

export function scene_of(timeline: Timeline): Scene {
  const { events, idle, path, shown } = timeline;
  const places = new Map(shown.map((stage, place) => [stage, place]));
  const bars = new Map<string, Bar[]>();
  const put = (stage: number, kind: RowKind, bar: Bar): void => {
    const place = places.get(stage);
    if (place === undefined) return;
    const key = `${place} ${kind}`;
    const row = bars.get(key);
    if (row) row.push(bar);
    else bars.set(key, [bar]);
  };
  events.stage.forEach((stage, i) =>
    put(stage, row_of_lane(events.lane[i]), {
      from: events.from_ns[i], to: events.to_ns[i], tone: tone_of(timeline.kinds[events.kind[i]]), item: i,
    }));
  idle.stage.forEach((stage, i) =>
    put(stage, "passes", { from: idle.from_ns[i], to: idle.to_ns[i], tone: WAIT, item: -1 - i }));
  path.stage.forEach((stage, i) =>
    put(stage, "path", { from: path.from_ns[i], to: path.to_ns[i], tone: INK, item: i }));
  const rows = shown.flatMap((_, place) =>
    ROW_KINDS.map((kind) => row_of(kind, place, bars.get(`${place} ${kind}`) ?? [])));
  return { timeline, rows, bars: events.stage.length + idle.stage.length };
}

// The first bar that ends after a moment. Bars of a row hardly overlap, so their ends ascend too but for a few.
export function first_after(row: Row, moment: number): number {
  let low = 0;
  let high = row.to.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.to[middle] > moment) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The bar at a moment, or -1.
export function bar_at(row: Row, moment: number): number {
  for (let i = first_after(row, moment); i < row.from.length && row.from[i] <= moment; i++)
    if (row.to[i] >= moment) return i;
  return -1;
}

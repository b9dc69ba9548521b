// What is written over the bars: the axis, names of stages, numbers of micro-batches, and the bar that is chosen.
import * as format from "../../text/format";
import { ticks } from "../../parts/interval";
import type { Colours } from "./colours";
import { LEFT, TOP, x_of, type Layout } from "./layout";
import { first_after, type Row, type Scene } from "./scene";
import type { Window } from "./window";

const FONT = '"Plex", system-ui, sans-serif';

const MOST_PLACES = 4;

export interface Chosen {
  readonly row: number;
  readonly bar: number;
}

// Ticks share a unit and have the places that their distance needs: 0.25 s, 0.50 s.
export function tick_texts(all: readonly number[], span: number): string[] {
  const [size, unit] = span < 2e4 ? [1e3, "µs"] : span < 2e9 ? [1e6, "ms"] : [1e9, "s"];
  const apart = (all.length > 1 ? all[1] - all[0] : span / 4) / size;
  let places = 0;
  for (let rest = apart; places < MOST_PLACES && Math.abs(rest - Math.round(rest)) > 1e-6 * rest; rest *= 10) places++;
  return all.map((ns) => `${(ns / size).toFixed(places)} ${unit}`);
}

export function draw_axis(context: CanvasRenderingContext2D, layout: Layout, seen: Window, { css }: Colours): void {
  context.font = `11px ${FONT}`;
  context.textAlign = "center";
  const all = ticks(seen.from, seen.to, Math.max(3, layout.width / 110));
  const texts = tick_texts(all, seen.to - seen.from);
  for (const [place, tick] of all.entries()) {
    const x = x_of(tick, layout, seen.from, seen.to);
    context.fillStyle = css.rule;
    context.fillRect(Math.round(x), TOP - 5, 1, layout.memory_bottom - TOP + 5);
    context.fillStyle = css.quiet;
    const text = texts[place];
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(x, LEFT + half), layout.width - half), 12);
  }
}

export function draw_names(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, { css }: Colours): void {
  context.font = `11px ${FONT}`;
  context.textAlign = "left";
  context.fillStyle = css.quiet;
  const every = Math.ceil(14 / layout.stage_height);
  const [offset, height] = layout.rows.passes;
  scene.timeline.shown.forEach((stage, place) => {
    if (place % every !== 0) return;
    const y = TOP + place * layout.stage_height + offset + height / 2 + 4;
    context.fillText(layout.stage_height >= 14 ? `stage ${stage + 1}` : String(stage + 1), 0, y);
  });
}

const LEAST_LABEL = 8;  // pixels that a number needs

function label_of(scene: Scene, item: number): string {
  if (item < 0) return "";
  return String(scene.timeline.events.micro_batch[item]);
}

export function draw_labels(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, seen: Window, { css }: Colours): void {
  const [offset, height] = layout.rows.passes;
  if (height < 11) return;
  context.font = `10.5px ${FONT}`;
  context.textAlign = "center";
  for (const row of scene.rows) {
    if (row.kind !== "passes") continue;
    const y = TOP + row.place * layout.stage_height + offset + height / 2 + 4;
    const room = ((seen.to - seen.from) / (layout.width - LEFT)) * LEAST_LABEL;
    for (let i = first_after(row, seen.from); i < row.from.length && row.from[i] < seen.to; i++) {
      if (row.item[i] < 0 || row.to[i] - row.from[i] < room) continue;
      const from = Math.max(x_of(row.from[i], layout, seen.from, seen.to), LEFT);
      const to = Math.min(x_of(row.to[i], layout, seen.from, seen.to), layout.width);
      context.fillStyle = row.tone[i] === 0 ? "#0d1a2b" : css["on-accent"];
      const text = label_of(scene, row.item[i]);
      if (to - from >= context.measureText(text).width + 1) context.fillText(text, (from + to) / 2, y);
    }
  }
}

// Around the bar that is chosen, as far as it is seen: where in the drawing it lies.
export function chosen_box(row: Row, bar: number, layout: Layout, seen: Window): Record<"left" | "top" | "width" | "height", string> | null {
  const [offset, height] = layout.rows[row.kind];
  const from = Math.max(x_of(row.from[bar], layout, seen.from, seen.to), LEFT);
  const to = Math.min(x_of(row.to[bar], layout, seen.from, seen.to), layout.width);
  if (height === 0 || to < from) return null;
  const top = TOP + row.place * layout.stage_height + offset;
  return { left: `${from - 1}px`, top: `${top - 1}px`, width: `${Math.max(to - from, 2) + 2}px`, height: `${height + 2}px` };
}

// The stage's memory over the step, as steps; all others faintly behind it.
export function draw_memory(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, seen: Window, stage: number, limit: number, { css }: Colours): void {
  const { memory } = scene.timeline;
  if (memory.length === 0) return;
  const most = Math.max(limit, ...memory.map((track) => track.allocated.reduce((a, b) => Math.max(a, b), 0))) * 1.06;
  const y_of = (bytes: number): number => layout.memory_bottom - (bytes / most) * (layout.memory_bottom - layout.memory_top);
  context.save();
  context.beginPath();
  context.rect(LEFT, layout.memory_top - 6, layout.width - LEFT, layout.memory_bottom - layout.memory_top + 8);
  context.clip();
  for (const track of memory) if (track.stage !== stage) draw_track(context, track, layout, seen, y_of, css["work-2"], 0.35);
  const chosen = memory.find((track) => track.stage === stage);
  if (chosen) draw_track(context, chosen, layout, seen, y_of, css.accent, 1);
  context.fillStyle = css.ink;
  context.fillRect(LEFT, y_of(limit) - 0.5, layout.width - LEFT, 1);
  context.restore();
  context.font = `11px ${FONT}`;
  context.textAlign = "left";
  context.fillStyle = css.quiet;
  context.fillText(format.gib(limit), 0, Math.max(y_of(limit) + 4, layout.memory_top + 4));
  context.fillText("0", 0, layout.memory_bottom);
  context.fillText(`allocated, stage ${stage + 1}`, LEFT + 4, layout.memory_top - 9);
}

function draw_track(context: CanvasRenderingContext2D, track: Scene["timeline"]["memory"][number], layout: Layout, seen: Window,
                    y_of: (bytes: number) => number, colour: string, opacity: number): void {
  context.globalAlpha = opacity;
  context.strokeStyle = colour;
  context.lineWidth = opacity === 1 ? 1.5 : 1;
  context.beginPath();
  let at = -1;  // the column that was drawn last: of many points in one, the highest and the lowest are
  let high = 0;
  let low = 0;
  track.at_ns.forEach((moment, i) => {
    const end = i + 1 < track.at_ns.length ? track.at_ns[i + 1] : seen.to;
    if (end < seen.from || moment > seen.to) return;
    const x = Math.round(x_of(Math.max(moment, seen.from), layout, seen.from, seen.to));
    const y = y_of(track.allocated[i]);
    if (x === at) {
      high = Math.min(high, y);
      low = Math.max(low, y);
      context.lineTo(x, high);
      context.lineTo(x, low);
      context.lineTo(x, y);
    } else {
      if (at >= 0) context.lineTo(x, y_of(track.allocated[i - 1]));
      else context.moveTo(x, y);
      context.lineTo(x, y);
      high = low = y;
    }
    at = x;
    context.lineTo(Math.round(x_of(Math.min(end, seen.to), layout, seen.from, seen.to)), y);
  });
  context.stroke();
  context.globalAlpha = 1;
}

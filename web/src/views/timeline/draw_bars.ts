// Bars as pixels: a row of a hundred thousand is walked once and no pixel is written twice, whatever the zoom, without a
// graphics card.
import { LEFT, TOP, type Layout } from "./layout";
import { first_after, type Row, type Scene } from "./scene";
import type { Window } from "./window";

function fill(pixels: Uint32Array, stride: number, left: number, right: number, top: number, bottom: number, colour: number): void {
  for (let y = top; y < bottom; y++) pixels.fill(colour, y * stride + left, y * stride + right);
}

export interface Surface {
  readonly pixels: Uint32Array;
  readonly width: number;   // device pixels
  readonly scale: number;   // of them in a pixel of the page
}

export function draw_row(surface: Surface, row: Row, layout: Layout, seen: Window, tones: Uint32Array): void {
  const [offset, height] = layout.rows[row.kind];
  if (height === 0 || row.from.length === 0) return;
  const { pixels, width, scale } = surface;
  const top = Math.round((TOP + row.place * layout.stage_height + offset) * scale);
  const bottom = Math.round((TOP + row.place * layout.stage_height + offset + height) * scale);
  const left = Math.round(LEFT * scale);
  const per_ns = (width - left) / (seen.to - seen.from);
  let free = left;  // the first pixel that nothing was drawn on
  for (let i = first_after(row, seen.from); i < row.from.length && row.from[i] < seen.to; i++) {
    const end = left + (row.to[i] - seen.from) * per_ns;
    if (end <= free) continue;  // less than a pixel, and that is taken
    const begin = left + (row.from[i] - seen.from) * per_ns;
    const from = Math.max(Math.round(begin), free);
    if (from >= width) return;
    const to = Math.min(Math.max(Math.round(end), from + 1), width);
    // Neighbours of one colour are told apart by a line, where there is room for one.
    const line = to - from > 3 * scale && row.kind !== "path" ? scale : 0;
    fill(pixels, width, from, Math.max(from + 1, to - Math.round(line)), top, bottom, tones[row.tone[i]]);
    free = to;
    if (free >= width) return;
  }
}

export function draw_bars(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, seen: Window, tones: Uint32Array, scale: number): void {
  const width = Math.round(layout.width * scale);
  const height = Math.round(layout.stages_bottom * scale);
  const image = context.createImageData(width, height);
  const surface = { pixels: new Uint32Array(image.data.buffer), width, scale };
  for (const row of scene.rows) draw_row(surface, row, layout, seen, tones);
  context.putImageData(image, 0, 0);
}

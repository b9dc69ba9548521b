// From a bar to the next by arrow keys: left and right along its row, up and down to the row of the next stage.
import type { Chosen } from "./draw_marks";
import { first_after, ROW_KINDS, type Scene } from "./scene";

const PASSES = ROW_KINDS.indexOf("passes");

function nearest(scene: Scene, row: number, moment: number): Chosen | null {
  const bars = scene.rows[row]?.from.length ?? 0;
  return bars === 0 ? null : { row, bar: Math.min(first_after(scene.rows[row], moment), bars - 1) };
}

export function step_from(scene: Scene, chosen: Chosen | null, key: string, middle: number): Chosen | null {
  const along = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
  const across = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
  if (along === 0 && across === 0) return null;
  if (!chosen) return nearest(scene, PASSES, middle);
  const row = scene.rows[chosen.row];
  if (along !== 0) {
    const bar = chosen.bar + along;
    return bar >= 0 && bar < row.from.length ? { row: chosen.row, bar } : chosen;
  }
  // Rows without a bar are passed over.
  for (let to = chosen.row + across; to >= 0 && to < scene.rows.length; to += across) {
    const found = nearest(scene, to, row.from[chosen.bar] + 1);
    if (found) return found;
  }
  return chosen;
}

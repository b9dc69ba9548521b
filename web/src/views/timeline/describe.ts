// A bar in words: for the line under the hand, and for who listens.
import * as format from "../../text/format";
import { plain } from "../../text/words";
import type { Chosen } from "./draw_marks";
import type { Scene } from "./scene";

// Seconds with digits enough to tell neighbours apart.
const exact = (ns: number): string => format.seconds(ns / 1e9);

function parts_of(scene: Scene, item: number): string {
  const { events, pieces, kinds } = scene.timeline;
  const parts = pieces[events.piece[item]]?.[kinds[events.kind[item]]];
  if (!parts) return "";
  const told = Object.entries(parts).filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1]);
  return told.length < 2 ? "" : `: ${told.map(([cause, s]) => `${plain(cause)} ${format.seconds(s)}`).join(", ")}`;
}

export function describe(scene: Scene, { row: place, bar }: Chosen): string {
  const row = scene.rows[place];
  const { timeline } = scene;
  const stage = timeline.shown[row.place] + 1;
  const when = `${exact(row.to[bar] - row.from[bar])}, from ${exact(row.from[bar])}`;
  const item = row.item[bar];
  if (row.kind === "path") return `stage ${stage}: on the critical path, ${when}`;
  if (item < 0) return `stage ${stage}: ${timeline.waits[timeline.idle.wait[-1 - item]]}, ${when}`;
  const kind = timeline.kinds[timeline.events.kind[item]];
  const other = timeline.events.other_stage[item];
  const which = row.kind === "after" ? "" : ` of micro-batch ${timeline.events.micro_batch[item]}`;
  const where = row.kind === "messages" && other >= 0 ? (kind === "receive" ? ` from stage ${other + 1}` : ` to stage ${other + 1}`) : "";
  return `stage ${stage}: ${kind}${which}${where}, ${when}${parts_of(scene, item)}`;
}

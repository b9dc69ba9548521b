// Predicted against measured, each with its interval: a point on the line is right.
import type { ScoredRow } from "../../api/answers";
import { Block } from "../../parts/block";
import { Figure, type Plot } from "../../parts/figure";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { validate_command } from "./command";
import type { ScoresProps } from "./groups";

type Timed = ScoredRow & { measured_s: number };
const MOST_WIDE = 760;
const is_timed = (row: ScoredRow): row is Timed => row.measured_s !== null;
const is_inside = (row: Timed): boolean => row.measured_s >= row.low_s && row.measured_s <= row.high_s;

function draw(plot: Plot, width: number, rows: readonly Timed[]): SVGElement {
  const all = rows.flatMap((row) => [row.measured_s, row.low_s, row.high_s]);
  const ends: [number, number] = [Math.min(...all) * 0.85, Math.max(...all) * 1.18];
  return plot.plot({
    width: Math.min(width, MOST_WIDE), height: Math.min(width, MOST_WIDE) * 0.66, marginLeft: 50, marginBottom: 38,
    x: { type: "log", domain: ends, label: "measured (s) →", grid: true, ticks: 5 },
    y: { type: "log", domain: ends, label: "↑ predicted (s), with its 80 % interval", grid: true, ticks: 5 },
    marks: [
      plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: "var(--rule-strong)" }),
      plot.ruleX(rows, { x: "measured_s", y1: "low_s", y2: "high_s", stroke: "var(--work-4)", strokeWidth: 3 }),
      plot.dot(rows, { x: "measured_s", y: "predicted_s", r: 4, stroke: "var(--accent)", fill: (row: Timed) => (is_inside(row) ? "var(--accent)" : "var(--paper)"), title: (row: Timed) => `${row.id}: measured ${format.seconds(row.measured_s)}, predicted ${format.seconds(row.predicted_s)}` }),
    ],
  }) as SVGElement;
}

export function Scatter({ words, scores }: ScoresProps) {
  const rows = (scores.rows ?? []).filter(is_timed);
  if (rows.length === 0) return null;
  const within = rows.filter(is_inside).length;
  return (
    <Block title="Predicted against measured" name="scatter" wide command={() => validate_command(words)}
      note={<>{within} of {rows.length} measured steps lie in the interval (filled); four of five should</>}
      table={() => csv(["id", "measured_s", "predicted_s", "low_s", "high_s"], rows.map((r) => [r.id, r.measured_s, r.predicted_s, r.low_s, r.high_s]))}>
      <Figure label={`${rows.length} runs, predicted against measured; the same figures are in the table`} on={JSON.stringify(rows)} draw={(plot, width) => draw(plot, width, rows)} />
    </Block>
  );
}

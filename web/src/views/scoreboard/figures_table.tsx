// Errors of many runs, a line a group: those of a table that was dropped here, and those of published runs.
import type { ComponentChildren } from "preact";
import type { Score } from "../../api/answers";
import * as format from "../../text/format";

export interface Line {
  name: string;
  told?: ComponentChildren;  // in place of the name
  note?: string;
  strong?: boolean;
  sum?: boolean;
  score: Score;
}

export const COLUMNS = ["rows", "mape", "median_ape", "p90_ape", "bias", "coverage80", "memory_rows", "memory_mape", "memory_bias"];
export const cells_of = (s: Score): (number | null)[] =>
  [s.count, s.mape, s.median_ape, s.p90_ape, s.bias, s.coverage80, s.memory.count, s.memory.mape, s.memory.bias];

const share = (value: number | null): string => (value === null ? "–" : format.percent(value));
const signed = (value: number | null): string => (value === null ? "–" : format.signed_percent(value));

export function FiguresTable({ caption, first, lines }: { caption: string; first: string; lines: readonly Line[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${caption}, table`}>
      <table class="scores">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr><td /><th scope="colgroup" colSpan={6} class="number">step time</th><th scope="colgroup" colSpan={3} class="number">memory</th></tr>
          <tr>
            <th scope="col">{first}</th>
            {["runs", "mean error", "median", "9 of 10 under", "bias", "in the interval", "runs", "mean error", "bias"].map((name, i) => <th key={i} scope="col" class="number">{name}</th>)}
          </tr>
        </thead>
        <tbody>{lines.map((line) => <ScoreRow key={line.name} {...line} />)}</tbody>
      </table>
    </div>
  );
}

function ScoreRow({ name, told, note, strong, sum, score: s }: Line) {
  return (
    <tr class={sum ? "sum" : ""}>
      <th scope="row" class={strong ? "strong" : ""}>{told ?? name}{note && <small> {note}</small>}</th>
      <td class="number">{format.whole(s.count)}</td>
      <td class="number strong">{share(s.mape)}</td>
      <td class="number">{share(s.median_ape)}</td>
      <td class="number">{share(s.p90_ape)}</td>
      <td class="number">{signed(s.bias)}</td>
      <td class="number">{share(s.coverage80)}</td>
      <td class="number">{s.memory.count || "–"}</td>
      <td class="number">{share(s.memory.mape)}</td>
      <td class="number">{signed(s.memory.bias)}</td>
    </tr>
  );
}

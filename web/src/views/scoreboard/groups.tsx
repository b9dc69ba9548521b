// Errors by group, and of all.
import type { Scores, Summary } from "../../api/answers";
import { Block } from "../../parts/block";
import type { Words } from "../../state/fragment";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { validate_command } from "./command";

export interface ScoresProps {
  words: Words;
  scores: Scores;
}

const share = (value: number | null): string => (value === null ? "–" : format.percent(value));
const signed = (value: number | null): string => (value === null ? "–" : format.signed_percent(value));

export function Groups({ words, scores, by }: ScoresProps & { by: string }) {
  const groups = Object.entries(scores.groups[by] ?? {});
  const { summary } = scores;
  const cells = (s: Summary) => [s.count, s.mape, s.median_ape, s.p90_ape, s.bias, s.coverage80, s.memory.count, s.memory.mape, s.memory.bias];
  const left = Object.entries(summary.skipped_reasons);
  return (
    <Block title={`Errors by ${by}`} name="scores" wide command={() => validate_command(words)}
      note={<>of {summary.count} measured steps; the last columns are of memory{left.length > 0 && `; left out: ${left.map(([reason, n]) => `${reason} (${n})`).join(", ")}`}</>}
      table={() => csv([by, "rows", "mape", "median_ape", "p90_ape", "bias", "coverage80", "memory_rows", "memory_mape", "memory_bias"],
        [...groups.map(([name, s]) => [name, ...cells(s)]), ["all", ...cells(summary)]])}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Errors, table">
        <table>
          <caption class="visually-hidden">Errors by {by}</caption>
          <thead>
            <tr><th scope="col">{by}</th>{["rows", "MAPE", "median", "p90", "bias", "in the interval", "rows", "MAPE", "bias"].map((name, i) => <th key={i} scope="col" class="number">{name}</th>)}</tr>
          </thead>
          <tbody>
            {groups.map(([name, s]) => <ScoreRow key={name} name={name} s={s} mine={(words[by] ?? "") === name} />)}
            <ScoreRow name="all" s={summary} sum />
          </tbody>
        </table>
      </div>
    </Block>
  );
}

// `mine`: runs like the one that the other views ask about.
function ScoreRow({ name, s, sum, mine }: { name: string; s: Summary; sum?: boolean; mine?: boolean }) {
  return (
    <tr class={sum ? "sum" : ""}>
      <th scope="row" class={mine ? "strong" : ""}>{name}{mine && <small> as the run in question</small>}</th>
      <td class="number">{s.count}</td>
      <td class="number strong">{share(s.mape)}</td>
      <td class="number">{share(s.median_ape)}</td>
      <td class="number">{share(s.p90_ape)}</td>
      <td class="number">{signed(s.bias)}</td>
      <td class="number">{share(s.coverage80)}</td>
      <td class="number">{s.memory.count}</td>
      <td class="number">{share(s.memory.mape)}</td>
      <td class="number">{signed(s.memory.bias)}</td>
    </tr>
  );
}

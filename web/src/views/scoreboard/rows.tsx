// Every measured run with its prediction, the worst first.
import { useState } from "preact/hooks";
import { Block } from "../../parts/block";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { VERDICTS } from "../../text/words";
import { validate_command } from "./command";
import type { ScoresProps } from "./groups";

const FEW = 25;

export function Rows({ words, scores }: ScoresProps) {
  const [all, set_all] = useState(false);
  const rows = [...(scores.rows ?? [])].sort((a, b) => Math.abs(b.error ?? 0) - Math.abs(a.error ?? 0));
  return (
    <Block title="Runs" name="rows" wide command={() => validate_command(words)} note="the worst first"
      table={() => csv(["id", "source", "measured_s", "predicted_s", "low_s", "high_s", "error", "measured_gib", "predicted_gib", "verdict"],
        rows.map((r) => [r.id, r.source, r.measured_s, r.predicted_s, r.low_s, r.high_s, r.error, r.measured_gib, r.predicted_gib, r.verdict]))}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs, table">
        <table>
          <caption class="visually-hidden">Measured runs with their predictions</caption>
          <thead>
            <tr>
              <th scope="col">run</th><th scope="col">source</th><th scope="col" class="number">measured (s)</th><th scope="col" class="number">predicted (s)</th>
              <th scope="col" class="number">80 % interval</th><th scope="col" class="number">error</th><th scope="col" class="number">GiB measured</th>
              <th scope="col" class="number">predicted</th><th scope="col">memory</th>
            </tr>
          </thead>
          <tbody>
            {(all ? rows : rows.slice(0, FEW)).map((row) => (
              <tr key={`${row.source} ${row.id}`}>
                <th scope="row">{row.id}</th>
                <td>{row.source}</td>
                <td class="number">{row.measured_s?.toPrecision(4) ?? "–"}</td>
                <td class="number">{row.predicted_s.toPrecision(4)}</td>
                <td class="number quiet-text">{row.low_s.toPrecision(3)} to {row.high_s.toPrecision(3)}</td>
                <td class="number strong">{row.error === null ? "–" : format.signed_percent(row.error)}</td>
                <td class="number">{row.measured_gib?.toFixed(1) ?? "–"}</td>
                <td class="number">{row.predicted_gib.toFixed(1)}</td>
                <td>{VERDICTS[row.verdict] ?? row.verdict}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > FEW && <button type="button" class="quiet unfold" aria-expanded={all} onClick={() => set_all(!all)} data-not-in-picture>{all ? "fewer" : `all ${rows.length}`}</button>}
    </Block>
  );
}

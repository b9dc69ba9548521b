// What the seconds rest on: the surest origin first.
import { Block } from "../../parts/block";
import { Stack } from "../../parts/bars";
import { change } from "../../state/store";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { ORIGINS } from "../../text/words";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

export function Origin({ words, answer }: BlocksProps) {
  const shares = answer.origin_shares;
  const pieces = ORIGINS.map(([label], i) => ({ label, value: shares[label] ?? 0, colour: `c-origin-${i + 1}` }));
  return (
    <Block title="Where the numbers come from" name="origin" command={() => predict_command(words)}
      note={<>share of the step's time; profile {answer.run.profile}</>}
      table={() => csv(["origin", "share"], Object.entries(shares))}>
      <Stack pieces={pieces} most={1} text={(piece) => `${piece.label} ${format.percent(piece.value)}`} />
      <table class="origin">
        <caption class="visually-hidden">Share of the time by origin</caption>
        <thead class="visually-hidden"><tr><th scope="col">origin</th><th scope="col">share</th><th scope="col">meaning</th></tr></thead>
        <tbody>
          {ORIGINS.map(([name, meaning], i) => (
            <tr key={name} class={shares[name] > 0 ? "" : "none"}>
              <th scope="row"><i class={`swatch c-origin-${i + 1}`} aria-hidden="true" />{name}</th>
              <td class="number">{format.percent(shares[name] ?? 0, 0)}</td>
              <td class="quiet-text">{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" class="quiet unfold" onClick={() => change({}, "scoreboard")} data-not-in-picture>how far off published runs like this one were</button>
    </Block>
  );
}

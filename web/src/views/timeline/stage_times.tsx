// The same in figures: what each stage does with the step. It is also the timeline for who cannot see one.
import type { Stage } from "../../api/answers";
import { Block } from "../../parts/block";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { plain } from "../../text/words";
import { predict_command } from "../run/command";
import type { BlocksProps } from "../run/run_view";

const told = (stages: readonly Stage[]): string[] =>
  Object.keys(stages[0]?.time_s ?? {}).filter((key) => stages.some((stage) => (stage.time_s?.[key] ?? 0) > 0));

export function StageTimes({ words, answer }: BlocksProps) {
  const { stages } = answer;
  const columns = told(stages);
  if (columns.length === 0) return null;
  return (
    <Block title="What each stage does" name="stages" wide command={() => `${predict_command(words)} --json`} note="seconds of the step"
      table={() => csv(["stage", ...columns], stages.map((stage, i) => [i + 1, ...columns.map((key) => stage.time_s?.[key] ?? null)]))}>
      <div class="scroll" tabIndex={0} role="region" aria-label="What each stage does, table">
        <table>
          <caption class="visually-hidden">Seconds of the step by stage</caption>
          <thead><tr><th scope="col">stage</th>{columns.map((key) => <th key={key} scope="col" class="number">{plain(key)}</th>)}</tr></thead>
          <tbody>
            {stages.map((stage, i) => (
              <tr key={i}>
                <th scope="row">{i + 1}</th>
                {columns.map((key) => <td key={key} class="number">{format.plain_seconds(stage.time_s?.[key] ?? 0)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Block>
  );
}

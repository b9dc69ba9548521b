// Where the time goes on the busiest stage, by cause.
import { Block } from "../../parts/block";
import { Stack } from "../../parts/bars";
import { Shares } from "../../parts/shares";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { by_family, causes } from "../../text/pieces";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

export function Breakdown({ words, answer }: BlocksProps) {
  const whole = answer.step_s;
  return (
    <Block title="Where the time goes" name="breakdown" command={() => predict_command(words)}
      note="by cause, on the busiest stage"
      table={() => csv(["cause", "s", "share"], Object.entries(answer.breakdown_s).map(([cause, s]) => [cause, s, s / whole]))}>
      <Stack pieces={by_family(answer.breakdown_s)} most={whole} text={(piece) => `${piece.label} ${format.seconds(piece.value)}`} />
      <Shares caption="Time by cause" head="cause" unit="s" pieces={causes(answer.breakdown_s)} whole={whole} text={format.plain_seconds} />
    </Block>
  );
}

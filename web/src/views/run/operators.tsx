// Kernel time by operator on the same stage.
import { useState } from "preact/hooks";
import { Block } from "../../parts/block";
import { Shares } from "../../parts/shares";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { operators } from "../../text/pieces";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

const FEW = 9;

export function Operators({ words, answer }: BlocksProps) {
  const [all, set_all] = useState(false);
  const pieces = operators(answer.operators_s);
  return (
    <Block title="By operator" name="operators" command={() => `${predict_command(words)} --json`} note="time of kernels on the same stage, and its share of the step"
      table={() => csv(["operator", "s"], Object.entries(answer.operators_s))}>
      <Shares caption="Kernel time by operator" head="operator" unit="s" pieces={all ? pieces : pieces.slice(0, FEW)} whole={answer.step_s} text={format.plain_seconds} />
      {pieces.length > FEW && (
        <button type="button" class="quiet unfold" aria-expanded={all} onClick={() => set_all(!all)} data-not-in-picture>
          {all ? "fewer" : `${pieces.length - FEW} smaller ones`}
        </button>
      )}
    </Block>
  );
}

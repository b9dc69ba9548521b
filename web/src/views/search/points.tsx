// Of several batches or lengths the best plan of each.
import type { Swept, SweptPoint } from "../../api/answers";
import { Block } from "../../parts/block";
import { PlanText } from "../../parts/plan_text";
import type { Words } from "../../state/fragment";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { search_command } from "./search_question";
import { take_plan } from "./summary";

export function Points({ words, swept }: { words: Words; swept: Swept }) {
  const table = (): string =>
    csv(["seq", "global_batch", "gpus", "plan", "step_s", "step_low_s", "step_high_s", "tokens_per_s_per_gpu", "needed_bytes", "fit_probability", "mfu", "refused"],
      swept.points.map(({ at, best, refused }) => [at.seq, at.global_batch, best?.[0]?.gpus, best?.[0]?.plan ?? "", best?.[0]?.step_s, best?.[0]?.step_low_s, best?.[0]?.step_high_s,
        best?.[0]?.tokens_per_s_per_gpu, best?.[0]?.needed_bytes, best?.[0]?.fit_probability, best?.[0]?.mfu, refused ?? ""]));
  return (
    <Block title="The best plan of each" name="best-of-each" wide command={() => search_command(words)} table={table}
      note={<>by {swept.objective}; up to {format.gib(swept.memory_limit_bytes)} a GPU{swept.interrupted ? "; stopped before its end" : ""}</>}>
      <div class="scroll" tabIndex={0} role="region" aria-label="The best plan of each, table">
        <table class="families">
          <caption class="visually-hidden">The best plan of each batch and length</caption>
          <thead>
            <tr>
              <th scope="col" class="number">tokens each</th><th scope="col" class="number">sequences a step</th><th scope="col" class="number">GPUs</th>
              <th scope="col" class="number">step (s)</th><th scope="col" class="number">80 % interval</th><th scope="col" class="number">tokens/s/GPU</th>
              <th scope="col" class="number">GiB</th><th scope="col" class="number">fits</th><th scope="col" class="number">MFU</th><th scope="col">plan</th>
            </tr>
          </thead>
          <tbody>{swept.points.map((point) => <PointRow key={JSON.stringify(point.at)} words={words} point={point} />)}</tbody>
        </table>
      </div>
    </Block>
  );
}

function PointRow({ words, point: { at, best, refused } }: { words: Words; point: SweptPoint }) {
  const plan = best?.[0];
  const head = <><td class="number strong">{at.seq}</td><td class="number strong">{at.global_batch}</td></>;
  if (!plan) return <tr>{head}<td colSpan={8} class="quiet-text">{refused ? `cannot run: ${refused}` : "no plan fits"}</td></tr>;
  return (
    <tr>
      {head}
      <td class="number">{plan.gpus}</td>
      <td class="number strong">{plan.step_s.toFixed(3)}</td>
      <td class="number quiet-text">{plan.step_low_s.toFixed(2)} to {plan.step_high_s.toFixed(2)}</td>
      <td class="number">{format.count(plan.tokens_per_s_per_gpu)}</td>
      <td class="number">{format.plain_gib(plan.needed_bytes)}</td>
      <td class="number">{format.chance(plan.fit_probability)}</td>
      <td class="number">{format.percent(plan.mfu)}</td>
      <td><button type="button" class="quiet mono take" onClick={() => take_plan(words, plan)}><PlanText text={plan.plan} /></button></td>
    </tr>
  );
}

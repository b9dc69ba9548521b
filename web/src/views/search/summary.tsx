// The best plan, and what was looked at to know that.
import type { Found } from "../../api/answers";
import { Block } from "../../parts/block";
import { Interval } from "../../parts/interval";
import { PlanText } from "../../parts/plan_text";
import { Standing } from "../../parts/standing";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { run_of, search_command, type Taken } from "./search_question";

export interface FoundProps {
  words: Words;
  found: Found;
}

export const take_plan = (words: Words, taken: Taken): void => change(run_of(words, taken), "run");

export function Summary({ words, found }: FoundProps) {
  const best = found.best[0];
  const counts: [string, number][] = [
    ["looked at", found.candidates], ["timed", found.evaluated], ["do not fit", found.pruned_memory], ["cannot be better", found.pruned_bound],
  ];
  return (
    <Block title={best ? "Best plan" : found.interrupted ? "No plan found before it was stopped" : "No plan fits"} name="best" wide command={() => search_command(words)}
      table={() => csv(["figure", "value"], [...counts, ...(best ? [["plan", best.plan], ["step_s", best.step_s], ["needed_bytes", best.needed_bytes]] as [string, string | number][] : [])])}
      note={<>by {found.objective}; up to {format.gib(found.memory_limit_bytes)} a GPU{found.interrupted ? "; stopped before its end" : ""}</>}>
      <div class="verdict">
        {best && (
          <div>
            <p class="figure-large" data-testid="best-step">{format.seconds(best.step_s)}</p>
            <p class="beside">80 % interval {format.seconds(best.step_low_s)} to {format.seconds(best.step_high_s)}</p>
            <Interval value={best.step_s} low={best.step_low_s} high={best.step_high_s} />
            <Standing on={found.calibration} />
          </div>
        )}
        {best && (
          <div>
            <p class="mono plan-text"><PlanText text={best.plan} /></p>
            <p class="beside">{format.whole(best.gpus)} GPUs, {format.gib(best.needed_bytes)} each, {format.chance(best.fit_probability)} sure to fit; MFU {format.percent(best.mfu)}; {format.count(best.gpu_hours_per_billion_tokens)} GPU-hours for 10⁹ tokens</p>
            <button type="button" class="main-button" data-not-in-picture onClick={() => take_plan(words, best)}>Look at it as a run</button>
          </div>
        )}
        <dl class="figures">{counts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{format.whole(value)}</dd></div>)}</dl>
      </div>
      {(found.would_fit?.length ?? 0) > 0 && (
        <ul class="assumed">{found.would_fit!.map((fix) => <li key={fix.plan}>{fix.change} would fit: {format.seconds(fix.step_s)}, <span class="mono"><PlanText text={fix.plan} /></span></li>)}</ul>
      )}
      {found.not_searched.length > 0 && (
        <details>
          <summary>not searched ({found.not_searched.length})</summary>
          <ul class="assumed">{found.not_searched.map((left) => <li key={left.values}>{left.values}: {left.reason}</li>)}</ul>
        </details>
      )}
    </Block>
  );
}

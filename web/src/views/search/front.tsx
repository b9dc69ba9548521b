// The Pareto front: less time or less memory, never both. A rectangle drawn over it picks the plans that are listed;
// two fields do the same for who draws none.
import type { Planned } from "../../api/answers";
import { Block } from "../../parts/block";
import { TextField } from "../../parts/field";
import { Figure, type Plot } from "../../parts/figure";
import { PlanText } from "../../parts/plan_text";
import { change } from "../../state/store";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { box_of, box_text, brush, inside, type Box } from "./brush";
import { search_command } from "./search_question";
import { take_plan, type FoundProps } from "./summary";

const GIB = 2 ** 30;
const MOST_LISTED = 12;

function draw(plot: Plot, width: number, plans: readonly Planned[], box: Box | null): SVGElement {
  const at = (plan: Planned) => ({ x: plan.step_s, y: plan.needed_bytes / GIB });
  const picked = plans.filter((plan) => inside(box, at(plan).x, at(plan).y));
  const options = { x: (plan: Planned) => at(plan).x, y: (plan: Planned) => at(plan).y };
  return plot.plot({
    width, height: Math.min(340, Math.max(220, width * 0.5)), marginLeft: 44, marginBottom: 38,
    x: { label: "step (s) →", grid: true, nice: true }, y: { label: "↑ GiB a GPU", grid: true, nice: true },
    marks: [
      plot.lineY(plans, { ...options, curve: "step-after", stroke: "var(--work-4)" }),
      plot.ruleY(plans.slice(0, 1), { y: (plan: Planned) => at(plan).y, x1: "step_low_s", x2: "step_high_s", stroke: "var(--work-4)", strokeWidth: 4 }),
      plot.dot(plans, { ...options, r: 3.5, stroke: "var(--accent)", fill: "var(--paper)" }),
      plot.dot(picked, { ...options, r: 3.5, fill: "var(--accent)", title: (plan: Planned) => `${plan.plan}: ${format.seconds(plan.step_s)}` }),
    ],
  }) as SVGElement;
}

export function Front({ words, found }: FoundProps) {
  const plans = [...(found.pareto ?? [])].sort((a, b) => a.step_s - b.step_s);
  const box = box_of(words.front ?? "");
  const picked = plans.filter((plan) => inside(box, plan.step_s, plan.needed_bytes / GIB));
  const set = (to: Box | null): void => change({ front: to ? box_text(to) : "" });
  const ends = (key: "right" | "high", text: string): void => {
    const value = parseFloat(text);
    const all: Box = box ?? { left: 0, right: 1e9, low: 0, high: 1e9 };
    set(Number.isFinite(value) ? { ...all, [key]: value } : { ...all, [key]: 1e9 });
  };
  const shown = (value: number | undefined): string => (value === undefined || value >= 1e9 ? "" : String(+value.toPrecision(4)));
  return (
    <Block title="Time against memory" name="front" wide command={() => search_command(words)}
      note="plans for which no other is at least as good in both; draw a rectangle to pick some. The pale bar is the best plan's 80 % interval."
      table={() => csv(["plan", "gpus", "step_s", "needed_bytes", "mfu"], picked.map((p) => [p.plan, p.gpus, p.step_s, p.needed_bytes, p.mfu]))}>
      <div class="front">
        <Figure label={`${plans.length} plans by step and memory; the same plans are in the list`} on={`${words.front}${plans.length}${plans[0].plan}`}
          draw={(plot, width) => draw(plot, width, plans, box)} ready={(chart) => brush(chart as SVGElement, set)} />
        <div>
          <div class="pair even" data-not-in-picture>
            <TextField id="front-step" label="At most" hint="s" value={shown(box?.right)} error="" take={(text) => ends("right", text)} />
            <TextField id="front-memory" label="At most" hint="GiB" value={shown(box?.high)} error="" take={(text) => ends("high", text)} />
          </div>
          <p class="note">{picked.length} of {plans.length} plans{box && <> <button type="button" class="quiet" onClick={() => set(null)}>all</button></>}</p>
          <table>
            <caption class="visually-hidden">Plans of the front that are picked</caption>
            <thead><tr><th scope="col" class="number">s</th><th scope="col" class="number">GiB</th><th scope="col">plan</th></tr></thead>
            <tbody>
              {picked.slice(0, MOST_LISTED).map((plan) => (
                <tr key={plan.plan}>
                  <td class="number">{plan.step_s.toFixed(3)}</td>
                  <td class="number">{format.plain_gib(plan.needed_bytes)}</td>
                  <td><button type="button" class="quiet mono take" onClick={() => take_plan(words, plan)}><PlanText text={plan.plan} /></button></td>
                </tr>
              ))}
            </tbody>
          </table>
          {picked.length > MOST_LISTED && <p class="note">and {picked.length - MOST_LISTED} slower</p>}
        </div>
      </div>
    </Block>
  );
}

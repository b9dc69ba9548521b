// The plan: a control for each key that people turn, over the text that is asked with.
import type { Run } from "../api/answers";
import { RangeField } from "../parts/range_field";
import { TextField } from "../parts/field";
import { parse_plan, with_key } from "../state/plan_text";
import { CHOICES, DEGREES, SWITCHES } from "./plan_keys";

export interface PlanPanelProps {
  plan: string;
  gpus: number;
  batch: number;
  run: Run | null;  // of the last answer: what the plan leaves to the stack
  error: string;
  take: (plan: string) => void;
}

const SWITCH_WORDS: Readonly<Record<string, string>> = { "1": "1", true: "1", "0": "0", false: "0" };

export function PlanPanel({ plan, gpus, batch, run, error, take }: PlanPanelProps) {
  const words = parse_plan(plan);
  const resolved = (key: string): unknown => run?.plan[key];
  const set = (key: string, value: string): void => take(with_key(plan, key, value));
  return (
    <fieldset class="plan">
      <legend>Plan</legend>
      {DEGREES.map(({ key, title, values }) => (
        <RangeField key={key} id={`plan-${key}`} label={key.replace("_", " ")} title={title}
          value={Number(words.get(key) ?? resolved(key) ?? (key === "zero" ? 0 : 1)) || 0} values={values(gpus, batch)}
          stated={words.has(key)} take={(value) => set(key, String(value))} />
      ))}
      <p class="derived">
        <span>dp</span> <output>{run ? String(run.plan.dp) : "–"}</output>
        <span>micro-batches</span> <output>{run ? run.micro_batches : "–"}</output>
      </p>
      <div class="choices">
        {CHOICES.map(({ key, label, values }) => {
          const stated = words.get(key) ?? "";
          const known = stated !== "" && !values.includes(stated) ? [...values, stated] : values;
          return (
            <label key={key}>
              {label}
              <select value={stated} class={stated === "" ? "by-itself" : ""} title={stated === "" ? "what the stack takes by itself" : ""} onChange={(event) => set(key, event.currentTarget.value)}>
                <option value="">{run ? String(resolved(key)) : "–"}</option>
                {known.map((value) => <option key={value} value={value}>{value}</option>)}
              </select>
            </label>
          );
        })}
      </div>
      <div class="switches">
        {SWITCHES.map(([key, label]) => {
          const stated = SWITCH_WORDS[words.get(key) ?? ""];
          const on = stated !== undefined ? stated === "1" : resolved(key) === true;
          return (
            <label key={key} class={stated === undefined ? "by-itself" : ""}>
              <input type="checkbox" checked={on} onChange={(event) => set(key, event.currentTarget.checked ? "1" : "0")} />
              {label}
            </label>
          );
        })}
      </div>
      <TextField id="plan" label="as text" value={plan} mono placeholder="tp=2,pp=2,zero=1" error={error} take={take} />
    </fieldset>
  );
}

// The question that all views share: what is trained on what, and by which plan.
import { useState } from "preact/hooks";
import type { Refusal } from "../api/client";
import type { Prediction } from "../api/answers";
import { error_at } from "../api/refused_field";
import { or_example } from "../api/question";
import { use_list } from "../api/lists";
import { Combobox } from "../parts/combobox";
import { error_id, Field, TextField } from "../parts/field";
import { RangeField } from "../parts/range_field";
import { change } from "../state/store";
import type { Words } from "../state/fragment";
import { Dropped } from "./dropped";
import { PlanPanel } from "./plan_panel";
import { BATCHES, GPU_COUNTS } from "./plan_keys";

export interface PanelProps {
  words: Words;
  answer: Prediction | null;
  refusal: Refusal | null;
  with_plan: boolean;  // a search has none of its own
}

const TASKS = ["pretrain", "sft", "lora", "qlora"];

export function Panel({ words: stated, answer, refusal, with_plan }: PanelProps) {
  const words = or_example(stated);
  const run = answer?.run ?? null;
  // What a dropped file says stands in the fields as a hint: a word typed over it wins.
  // So does what nobody stated and the program took.
  const hint = (key: keyof NonNullable<typeof run>): string => (run ? String(run[key]) : "");
  const set = (key: string, value: string): void => change({ ...words, [key]: value });
  const wrong = (field: string): string => error_at(refusal, field);
  const number = (key: "gpus" | "global_batch"): number => Number(words[key] ?? "") || run?.[key] || 1;
  const named = (key: "model" | "cluster" | "stack" | "profile", label: string) => (
    <NamedField key={key} field={key} label={label} value={key === "model" && words.model_text ? words.model_name : (words[key] ?? "")}
      placeholder={hint(key)} error={wrong(key)}
      take={(value) => change({ ...words, [key]: value, ...(key === "model" ? { model_text: "", model_name: "" } : {}) })} />
  );
  return (
    <form class="panel" aria-label="The question" onSubmit={(event) => event.preventDefault()}>
      <Dropped words={words} error={wrong("run") || wrong("calibration")} />
      {named("model", "Model")}
      {named("cluster", "Cluster")}
      <Counted field="gpus" label="GPUs" value={words.gpus ?? ""} placeholder={hint("gpus")} number={number("gpus")}
        values={GPU_COUNTS} error={wrong("gpus")} take={(value) => set("gpus", value)} />
      <Counted field="global_batch" label="Sequences a step" value={words.global_batch ?? ""} placeholder={hint("global_batch")}
        number={number("global_batch")} values={BATCHES} error={wrong("global_batch")} take={(value) => set("global_batch", value)} />
      <div class="pair">
        <TextField id="field-seq" label="Tokens each" value={words.seq ?? ""} placeholder={run ? String(run.seq) : ""}
          error={wrong("seq")} take={(value) => set("seq", value)} />
        {named("stack", "Stack")}
      </div>
      {with_plan && <PlanPanel plan={words.plan ?? ""} gpus={number("gpus")} batch={number("global_batch")} run={run}
        error={wrong("plan")} take={(plan) => set("plan", plan)} />}
      <details class="more" open={["task", "documents", "profile", "tokens"].some((key) => words[key]) || undefined}>
        <summary>Task, cost of a training, profile</summary>
        <Field id="field-task" label="Task" error={wrong("task")}>
          <select id="field-task" value={words.task ?? ""} onChange={(event) => set("task", event.currentTarget.value)}>
            <option value="">as stated</option>
            {TASKS.map((task) => <option key={task}>{task}</option>)}
          </select>
        </Field>
        <TextField id="field-tokens" label="Tokens of the training" value={words.tokens ?? ""} placeholder="1.5T"
          error={wrong("tokens")} take={(value) => set("tokens", value)} />
        <TextField id="field-documents" label="Documents" hint="mean length, packed" value={words.documents ?? ""}
          error={wrong("documents")} take={(value) => set("documents", value)} />
        {named("profile", "Profile")}
      </details>
    </form>
  );
}

interface NamedFieldProps {
  field: string;
  label: string;
  value: string;
  placeholder: string;
  error: string;
  take: (value: string) => void;
}

function NamedField({ field, label, value, placeholder, error, take }: NamedFieldProps) {
  const id = `field-${field}`;
  const names = use_list(`${field}s`);
  return (
    <Field id={id} label={label} error={error}>
      <Combobox id={id} value={value} placeholder={placeholder} names={names} invalid={error !== ""} described={error_id(id)} take={take} />
    </Field>
  );
}

interface CountedProps extends NamedFieldProps {
  number: number;
  values: readonly number[];
}

// A number to type, or to drag through the usual ones. While it is dragged the text follows.
function Counted({ field, label, value, placeholder, number, values, error, take }: CountedProps) {
  const id = `field-${field}`;
  const [typed, set_typed] = useState<string | null>(null);
  return (
    <div class="counted">
      <Field id={id} label={label} error={error}>
        <input id={id} type="text" inputMode="numeric" autocomplete="off" value={typed ?? value} placeholder={placeholder}
          aria-invalid={error !== ""} aria-describedby={error_id(id)} onInput={(event) => set_typed(event.currentTarget.value)}
          onChange={(event) => {
            set_typed(null);
            take(event.currentTarget.value.trim());
          }} />
      </Field>
      <RangeField id={`${id}-range`} label={`${label}, by powers of two`} title={label} value={number} values={values} stated
        take={(chosen) => take(String(chosen))} />
    </div>
  );
}

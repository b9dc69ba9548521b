// What a search is asked: the run without its plan, and the limits of what is looked for.
import { calibrated, or_example, question, type Question } from "../../api/question";
import type { Words } from "../../state/fragment";
import { command, type Extra } from "../../text/command";

// Options of one word, and those that may be given again, each value a line of the field.
export const ONE = ["objective", "headroom", "tokens", "deadline", "budget", "time"] as const;
export const SEVERAL = ["set", "range", "forbid", "why"] as const;

const values_of = (text: string): string[] => text.split(/[;\n]+/).map((value) => value.trim()).filter(Boolean);

const without_plan = (words: Words): Words => ({ ...or_example(words), plan: "" });

export function search_question(words: Words): Question {
  const asked = calibrated(words, question(without_plan(words)));
  for (const key of ONE) if (words[key]) asked[key] = words[key];
  for (const key of SEVERAL) if (words[key]) asked[key] = values_of(words[key]);
  return asked;
}

export function search_command(words: Words, more: readonly Extra[] = []): string {
  const extras: Extra[] = [...more];
  for (const key of SEVERAL) for (const value of values_of(words[key] ?? "")) extras.push({ option: `--${key}`, value });
  for (const key of ONE) extras.push({ option: `--${key}`, value: words[key] ?? "" });
  return command("search", without_plan(words), extras);
}

const SEVERAL_VALUES = /,|\.\./;

// The run of a plan that was found: of a search over several numbers of GPUs, batches or lengths with its own.
export interface Taken {
  readonly plan: string;
  readonly gpus?: number;
  readonly seq?: number;
  readonly global_batch?: number;
}
export function run_of(words: Words, taken: Taken): Words {
  const run: Record<string, string> = { ...or_example(words), plan: taken.plan };
  for (const key of ["gpus", "seq", "global_batch"] as const)
    if (SEVERAL_VALUES.test(run[key] ?? "") && taken[key] !== undefined) run[key] = String(taken[key]);
  return run;
}

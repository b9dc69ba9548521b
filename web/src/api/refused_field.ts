// Which of the page's fields a refusal is about: the server says so, or its message begins with the key.
import type { Refusal } from "./client";

const FIELDS = ["global_batch", "model", "cluster", "gpus", "plan", "seq", "documents", "stack", "task", "profile",
  "tokens", "over", "run", "set", "range", "forbid", "headroom", "objective", "budget", "deadline", "why", "time",
  "tables", "top", "calibration"];

export function refused_field(refusal: Refusal | null): string {
  if (!refusal) return "";
  const said = refusal.field.replace(/^-+/, "").replace(/-/g, "_");
  if (said !== "") return said;
  const first = /^(?:no )?(?:--)?([a-z_-]+)/.exec(refusal.message)?.[1]?.replace(/-/g, "_") ?? "";
  return FIELDS.includes(first) ? first : "";
}

// "gpus 64 is not a multiple of tp*pp*cp = 6" is as much the plan's.
const DEGREES = /\b(tp|pp|cp|dp)\*/;

// What stands at this field. The field before the message is what the label says already; a message of one field that
// begins with another ("plan: global_batch 7 is not a multiple of ...") stands at both, for either may be meant.
export function error_at(refusal: Refusal | null, field: string): string {
  if (!refusal) return "";
  const told = refusal.message.replace(/^(?:--)?[a-z_-]+: /, "");
  const first = refused_field(refusal);
  const second = /^[a-z_]+/.exec(told)?.[0] ?? "";
  const of_plan = field === "plan" && DEGREES.test(told);
  return first === field || (first !== "" && (second === field || of_plan)) ? told : "";
}

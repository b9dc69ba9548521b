// Other runs beside the one at the side, each as what it changes: "tp=4,pp=1" or "cluster=aws-p5,zero=3".
import type { Words } from "../../state/fragment";
import { parse_plan, with_key } from "../../state/plan_text";
import { RUN_OPTIONS } from "../../text/command";

export const MOST = 6;

export const variants_of = (text: string): string[] => text.split(";").map((one) => one.trim()).filter(Boolean).slice(0, MOST);
export const variants_text = (variants: readonly string[]): string => variants.join(";");

// Keys of the run are words of the question, all others keys of the plan.
export function applied(words: Words, variant: string): Words {
  const changed: Record<string, string> = { ...words };
  for (const [key, value] of parse_plan(variant)) {
    if ((RUN_OPTIONS as readonly string[]).includes(key)) {
      changed[key] = value;
      if (key === "model") changed.model_text = changed.model_name = "";
    } else {
      changed.plan = with_key(changed.plan ?? "", key, value);
    }
  }
  return changed;
}

// What a dropped file is, as far as its text tells; the server has the last word.

export type Kind = "model" | "table" | "log" | "calibration" | "run";

// A log of a trainer has many lines that count steps; a launch script has none.
const STEP_LINE = /\b(iteration|step|global_step)\b["']?\s*[:=]?\s*\d+/i;

export function kind_of(name: string, text: string): Kind {
  const trimmed = text.trimStart();
  if (trimmed.startsWith("{")) {
    try {
      const value = JSON.parse(text) as Record<string, unknown>;
      if ("architectures" in value || "model_type" in value || "hidden_size" in value) return "model";
    } catch {
      // Not JSON as a whole: lines of it, as some trainers log.
    }
  }
  if (/^lessons:/m.test(text) && /^factors:/m.test(text)) return "calibration";
  const head = text.slice(0, text.indexOf("\n") < 0 ? undefined : text.indexOf("\n"));
  if (/\.csv$/i.test(name) || (head.includes(",") && /(^|,)(step_s|step_time_s|global_batch)(,|$)/.test(head))) return "table";
  const counted = text.split("\n").filter((line) => STEP_LINE.test(line)).length;
  if (counted >= 3 || /\.log$/i.test(name)) return "log";
  return "run";
}

// A link holds a launch script, not a log of megabytes: of a long text the beginning, where arguments are printed.
export const MOST_HELD = 48 * 1024;
export function head_of(text: string): string {
  if (text.length <= MOST_HELD) return text;
  return text.slice(0, text.lastIndexOf("\n", MOST_HELD) + 1);
}

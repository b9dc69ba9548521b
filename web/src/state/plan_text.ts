// A plan as its text, "tp=2,pp=2,recompute=full": what the steppers change and what the API is asked with. The text
// is the truth; a key that the page has no stepper for stays where it is.

export type PlanWords = ReadonlyMap<string, string>;

export function parse_plan(text: string): PlanWords {
  const words = new Map<string, string>();
  for (const piece of text.split(",")) {
    const equals = piece.indexOf("=");
    if (equals > 0) words.set(piece.slice(0, equals).trim(), piece.slice(equals + 1).trim());
  }
  return words;
}

export function format_plan(words: PlanWords): string {
  return [...words].map(([key, value]) => `${key}=${value}`).join(",");
}

// The same plan with one key changed; an empty value takes the key out, so that the stack decides again.
export function with_key(text: string, key: string, value: string): string {
  const words = new Map(parse_plan(text));
  if (value === "") words.delete(key);
  else words.set(key, value);
  return format_plan(words);
}

// The same plan with all that a change ("tp=1,recompute=none") says.
export function with_change(text: string, change: string): string {
  let plan = text;
  for (const [key, value] of parse_plan(change)) plan = with_key(plan, key, value);
  return plan;
}

export function divisors(of: number, at_most: number): number[] {
  const found: number[] = [];
  for (let d = 1; d <= Math.min(of, at_most); d++) if (of % d === 0) found.push(d);
  return found;
}

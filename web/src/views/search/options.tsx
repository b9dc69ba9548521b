// The limits of a search, in the words of the command line.
import { Field, error_id, TextField } from "../../parts/field";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import { or_example } from "../../api/question";

export interface OptionsProps {
  words: Words;
  error: (field: string) => string;
  start: () => void;
}

const OBJECTIVES = ["time", "money", "memory", "energy"];
const TEXTS: readonly (readonly [string, string, string, string])[] = [
  ["headroom", "Leave free", "of every GPU", "10% or 8GiB"],
  ["set", "Only these values", "; between several", "zero=1,2; tp=8"],
  ["range", "From one to another", "", "pp=1..16"],
  ["forbid", "Not these", "", "schedule=gpipe"],
  ["why", "Why not", "a plan", "tp=8; pp=4"],
  ["time", "Stop after", "with the best so far", "5s"],
];

export function SearchOptions({ words, error, start }: OptionsProps) {
  const set = (key: string, value: string): void => change({ ...or_example(words), [key]: value });
  return (
    <form class="options" aria-label="Limits of the search" onSubmit={(event) => {
      event.preventDefault();
      start();
    }}>
      <Field id="search-objective" label="Best by" error={error("objective")}>
        <select id="search-objective" aria-describedby={error_id("search-objective")} value={words.objective ?? ""}
          onChange={(event) => set("objective", event.currentTarget.value)}>
          {OBJECTIVES.map((objective, i) => <option key={objective} value={i === 0 ? "" : objective}>{objective}</option>)}
        </select>
      </Field>
      {TEXTS.map(([key, label, hint, placeholder]) => (
        <TextField key={key} id={`search-${key}`} label={label} hint={hint} value={words[key] ?? ""} placeholder={placeholder}
          error={error(key)} mono take={(value) => set(key, value)} />
      ))}
    </form>
  );
}

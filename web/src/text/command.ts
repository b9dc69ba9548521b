// The question as the command that answers it, to be pasted into a shell. Texts that were dropped on the page are
// written to files first, so that the command is whole.
import type { Words } from "../state/fragment";

// The options of predict, in the order of its --help; search, convert and diagnose take them too.
export const RUN_OPTIONS = [
  "model", "cluster", "gpus", "plan", "global_batch", "seq", "documents", "stack", "task", "profile",
] as const;

export function shell_word(text: string): string {
  return /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

// A name of a file that is safe in a shell and in this folder, whatever was dropped.
export function file_name(name: string, otherwise: string): string {
  const safe = name.replace(/^.*[\/\\]/, "").replace(/[^A-Za-z0-9_.-]/g, "_").replace(/^[.-]+/, "");
  return safe === "" ? otherwise : safe;
}

export function here_document(name: string, text: string): string {
  let end = "EOF";
  while (text.split("\n").includes(end)) end += "_";
  return `cat > ${name} <<'${end}'\n${text.replace(/\n*$/, "\n")}${end}\n`;
}

// Subcommands whose answers stand on a calibration.
const STANDING = ["predict", "search"];

export interface Extra {
  readonly option: string;  // with its dashes
  readonly value?: string;  // none: a flag
}

export function command(subcommand: string, words: Words, extras: readonly Extra[] = []): string {
  let files = "";
  const pieces = ["foretrain", subcommand];
  if (words.run) {
    const name = file_name(words.run_name ?? "", "run.yaml");
    files += here_document(name, words.run);
    pieces.push(name);
  }
  for (const option of RUN_OPTIONS) {
    let value = words[option] ?? "";
    if (option === "model" && words.model_text) {
      value = file_name(words.model_name ?? "", "config.json");
      files += here_document(value, words.model_text);
    }
    if (value !== "") pieces.push(`--${option.replace(/_/g, "-")}`, shell_word(value));
  }
  if (words.calibration && STANDING.includes(subcommand)) {
    const name = file_name(words.calibration_name ?? "", "calibration.yaml");
    files += here_document(name, words.calibration);
    pieces.push("--calibration", name);
  }
  for (const { option, value } of extras) {
    if (value === "") continue;
    pieces.push(option);
    if (value !== undefined) pieces.push(shell_word(value));
  }
  return files + pieces.join(" ");
}

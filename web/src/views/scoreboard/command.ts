import type { Words } from "../../state/fragment";
import { file_name, here_document, shell_word } from "../../text/command";

export function validate_command(words: Words): string {
  const name = file_name(words.table_name ?? "", "runs.csv");
  return `${here_document(name, words.table ?? "")}foretrain validate ${name} --by ${shell_word(words.by ?? "source")} --rows`;
}

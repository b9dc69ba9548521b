import type { Words } from "../../state/fragment";
import { file_name, shell_word } from "../../text/command";

// The table is the person's own file: the command names it.
export const validate_command = (words: Words): string =>
  `foretrain validate ${shell_word(file_name(words.table_name ?? "", "runs.csv"))} --by ${shell_word(words.by ?? "source")} --rows`;

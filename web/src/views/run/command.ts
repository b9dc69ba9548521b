import { command } from "../../text/command";
import type { Words } from "../../state/fragment";
import { or_example } from "../../api/question";

export const predict_command = (words: Words): string =>
  command("predict", or_example(words), [{ option: "--tokens", value: words.tokens ?? "" }]);

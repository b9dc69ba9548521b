// The page's words as the body of a question.
import type { Words } from "../state/fragment";
import { RUN_OPTIONS } from "../text/command";

export type Question = Record<string, unknown>;

// With nothing said the page asks what the README asks, so that the first look is an answer.
export const EXAMPLE: Words = {
  model: "llama-3-8b",
  cluster: "dgx-h100",
  gpus: "64",
  global_batch: "512",
  stack: "megatron",
  plan: "tp=2,pp=2,zero=1",
};

export const says_which_run = (words: Words): boolean =>
  [...RUN_OPTIONS, "run", "model_text"].some((key) => (words[key] ?? "") !== "");
export const or_example = (words: Words): Words => (says_which_run(words) ? words : { ...EXAMPLE, ...words });

export function question(words: Words): Question {
  const body: Question = {};
  if (words.run) body.run = { name: words.run_name || "run.yaml", text: words.run };
  for (const option of RUN_OPTIONS) if (words[option]) body[option] = words[option];
  if (words.model_text) body.model = { name: words.model_name || "config.json", text: words.model_text };
  return body;
}

// What measurements of the cluster taught, where somebody has dropped it: predictions and searches stand on it.
export const calibrated = (words: Words, asked: Question): Question =>
  words.calibration ? { ...asked, calibration: { name: words.calibration_name || "calibration.yaml", text: words.calibration } } : asked;

export const predict_question = (words: Words): Question =>
  calibrated(words, words.tokens ? { ...question(words), tokens: words.tokens } : question(words));

// A file from the person's machine becomes words of the question: a model, a run, a run with what it measured, or a table
// for the scoreboard.
import { ask, Refusal } from "../api/client";
import type { Converted, LogRead } from "../api/answers";
import { change, current, replace } from "../state/store";
import { or_example, predict_question } from "../api/question";
import { head_of, kind_of, MOST_HELD } from "./recognise";
import { say } from "./notice";

const USUAL_SEQ = "4096";
const MOST_READ = 32 * 2 ** 20;

async function take_model(name: string, text: string): Promise<void> {
  await ask("show", { kind: "model", name: { name, text } });
  if (text.length > MOST_HELD) throw new Refusal(`${name} is longer than a link can hold`, "", 0);
  const words = or_example(current().words);
  // A config.json says how long a sequence may be, not how long those of a training are.
  replace({ ...words, run: "", run_name: "", run_is: "", measured: "", seq: words.seq || USUAL_SEQ, model: "", model_text: text, model_name: name }, "run");
  say(`${name}: a model`);
}

async function take_run(name: string, text: string, measured: string): Promise<void> {
  const head = head_of(text);
  const read = await ask<Converted>("convert", { run: { name, text: head } });
  // What a launch cannot know: where it runs.
  const cluster = read.format === "a RUN.yaml" ? "" : (current().words.cluster ?? or_example({}).cluster);
  replace({ run: head, run_name: name, run_is: read.format, cluster, measured }, "run");
  const beside = [...read.unknown_flags.map((flag) => `${flag} is not known`), ...read.contradictions];
  say([`${name}: ${read.format}`, ...beside].join("; "));
}

// Asked for once before it is taken: one of another cluster, or one that was edited, is refused.
async function take_calibration(name: string, text: string): Promise<void> {
  if (text.length > MOST_HELD) throw new Refusal(`${name} is longer than a link can hold`, "", 0);
  const { words } = current();
  const held = { calibration: text, calibration_name: name };
  await ask("predict", predict_question({ ...or_example(words), ...held }));
  change({ ...or_example(words), ...held });
  say(`${name}: a calibration, on which predictions and searches now stand`);
}

async function take_log(name: string, text: string): Promise<void> {
  const log = await ask<LogRead>("import", { format: "log", logs: [{ name, text }] });
  const measured = log.step_s ? String(log.step_s) : "";
  try {
    await take_run(name, text, measured);
  } catch (failure) {
    if (!(failure instanceof Refusal)) throw failure;
    replace({ ...or_example(current().words), measured }, current().view);
    say(`${name}: a log of ${log.format}, which does not say what was run; its step of ${measured} s stands beside the prediction`);
  }
}

export async function take_file(file: File): Promise<void> {
  try {
    if (file.size > MOST_READ) throw new Refusal(`${file.name} has more than 32 MiB`, "", 0);
    const text = await file.text();
    const kind = kind_of(file.name, text);
    if (kind === "model") await take_model(file.name, text);
    else if (kind === "calibration") await take_calibration(file.name, text);
    else if (kind === "log") await take_log(file.name, text);
    else if (kind === "table") {
      if (text.length > MOST_HELD) throw new Refusal(`${file.name} has more than ${MOST_HELD / 1024} KiB, which a link cannot hold`, "", 0);
      change({ table: text, table_name: file.name }, "scoreboard");
    } else await take_run(file.name, text, "");
  } catch (failure) {
    say(failure instanceof Error ? `${file.name}: ${failure.message}` : String(failure), true);
  }
}

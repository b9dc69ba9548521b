// How far to trust it: predictions against published runs like the one in question, and against runs that somebody has
// measured, in a table that is dropped here.
import { useRef } from "preact/hooks";
import type { Accuracy, Scores } from "../../api/answers";
import { use_answer } from "../../api/latest";
import { or_example, question } from "../../api/question";
import { take_file } from "../../drop/take_file";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import { Groups } from "./groups";
import { LikeIt, Published } from "./published";
import { Rows } from "./rows";
import { Scatter } from "./scatter";

const KEYS = ["source", "gpu", "stack", "cluster", "feature", "group"];

export function ScoreboardView({ words }: { words: Words }) {
  const chooser = useRef<HTMLInputElement>(null);
  const by = words.by ?? "source";
  const asked = words.table ? { tables: [{ name: words.table_name || "runs.csv", text: words.table }], by, rows: true } : null;
  const { answer, refusal } = use_answer<Scores>("validate", asked);
  const published = use_answer<Accuracy>("accuracy", question(or_example(words)));
  const others = published.refusal ? null : published.answer;
  const of_others = others ? (
    <>
      <LikeIt words={words} accuracy={others} />
      <Published words={words} accuracy={others} />
    </>
  ) : <p class="waiting wide">{published.refusal ? `Which published runs are like it cannot be told: ${published.refusal.message}` : "asking…"}</p>;
  return (
    <div class="blocks">
      {!words.table && of_others}
      <section class="wide" aria-label="Runs that you have measured">
        <h2>Runs that you have measured</h2>
        {!words.table && <Explained />}
        <input ref={chooser} type="file" accept=".csv,text/csv" class="visually-hidden" tabIndex={-1} aria-hidden="true"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = "";
            if (file) void take_file(file);
          }} />
        <button type="button" class="chooser" onClick={() => chooser.current?.click()}>
          {words.table ? `${words.table_name || "runs.csv"}: drop or choose another table of measured runs` : "Drop or choose a table of measured runs (CSV, docs/formats/measured-runs.md)"}
        </button>
        {words.table && (
          <div class="metric by" role="group" aria-label="by">
            {KEYS.map((key) => <button key={key} type="button" class="quiet" aria-pressed={key === by} onClick={() => change({ by: key })}>by {key}</button>)}
            <button type="button" class="quiet" onClick={() => change({ table: "", table_name: "" })}>forget the table</button>
          </div>
        )}
        {refusal && <p class="refusal" role="alert">{refusal.message}</p>}
      </section>
      {answer && words.table && (
        <>
          <Groups words={words} scores={answer} by={by} />
          <Scatter words={words} scores={answer} />
          <Rows words={words} scores={answer} />
        </>
      )}
      {words.table && of_others}
    </div>
  );
}

function Explained() {
  return (
    <div class="explained">
      <p>Your own machines tell more than others': a row a run, with the model, the GPUs, the plan and the step. The table stays in this browser and the program on this machine. A row from a training's log: <code class="mono">scripts/row-from-log</code> (docs/contribute-a-run.md).</p>
    </div>
  );
}

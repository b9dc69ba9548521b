// How far to trust the run in question: what predictions of published runs that are like it were off by, and of all of them.
import type { Accuracy } from "../../api/answers";
import { or_example } from "../../api/question";
import { Block } from "../../parts/block";
import { change } from "../../state/store";
import type { Words } from "../../state/fragment";
import { command } from "../../text/command";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { cells_of, COLUMNS, FiguresTable, type Line } from "./figures_table";

type Alike = Accuracy["like"][number];
const GROUPS = ["source", "gpu", "stack", "feature", "alike"];
const CALLED: Readonly<Record<string, string>> = { gpu: "GPU", stack: "stack", feature: "kind", source: "source", alike: "all of these" };

const label = ({ by, name }: Alike): string => (by === "alike" ? "GPU, stack and kind" : by === "feature" ? name : `${CALLED[by]} ${name}`);
const accuracy_command = (words: Words, all: boolean): string => command("accuracy", or_example(words), all ? [{ option: "--all" }] : []);

export interface PublishedProps {
  words: Words;
  accuracy: Accuracy;
}

export function LikeIt({ words, accuracy }: PublishedProps) {
  const nearest = accuracy.like.find((alike) => alike.figures.count > 0);
  const { run } = accuracy;
  const lines: Line[] = [
    ...accuracy.like.map((alike) => ({ name: label(alike), note: alike.by === "alike" ? alike.name : undefined, score: alike.figures, strong: alike === nearest })),
    { name: "all published runs", score: accuracy.all, sum: true },
  ];
  return (
    <Block title="Published runs like this one" name="like" wide command={() => accuracy_command(words, false)}
      note={<>{run.model} on {run.gpu}, stack {run.stack}, {run.features.join(", ")}</>}
      table={() => csv(["like it in", ...COLUMNS], lines.map((line) => [line.name, ...cells_of(line.score)]))}>
      {nearest ? <Nearest nearest={nearest} /> : <p>No published run has its GPU, its stack or its kind: nothing but the interval says how far off the prediction is.</p>}
      <FiguresTable caption="Published runs like this one" first="that share its" lines={lines} />
    </Block>
  );
}

function Nearest({ nearest: { by, name, figures } }: { nearest: Alike }) {
  const { count, mape, bias, coverage80 } = figures;
  return (
    <div class="verdict">
      <div>
        <p class="figure-large" data-testid="trust">{format.percent(mape ?? 0)} off</p>
        <p class="beside">
          in the mean of {count} published {count === 1 ? "run" : "runs"} {by === "alike" ? "with its GPU, stack and kind" : `that share its ${by === "feature" ? `kind (${name})` : CALLED[by]}; none shares the rest as well`}
        </p>
      </div>
      <dl class="figures">
        <div><dt>measured in the 80 % interval</dt><dd>{format.percent(coverage80 ?? 0, 0)}</dd></div>
        <div><dt>bias: {(bias ?? 0) < 0 ? "predicted too fast" : "predicted too slow"}</dt><dd>{format.signed_percent(bias ?? 0)}</dd></div>
      </dl>
    </div>
  );
}

export function Published({ words, accuracy }: PublishedProps) {
  const by = GROUPS.includes(words.published ?? "") ? words.published : "source";
  const groups = Object.entries(accuracy.groups[by] ?? {}).filter(([, score]) => score.count > 0);
  const mine = accuracy.like.filter((alike) => alike.by === by).map((alike) => alike.name);
  const lines: Line[] = [
    ...groups.map(([name, score]) => ({ name, score, strong: mine.includes(name), note: mine.includes(name) ? "as this run" : undefined })),
    { name: "all published runs", score: accuracy.all, sum: true },
    { name: "mean of sources", note: "each once", score: accuracy.by_source, sum: true },
  ];
  return (
    <Block title={`All published runs, by ${CALLED[by]}`} name="published" wide command={() => accuracy_command(words, true)}
      note="error = (predicted − measured) / measured; four of five measured steps should lie in the interval"
      table={() => csv([by, ...COLUMNS], lines.map((line) => [line.name, ...cells_of(line.score)]))}>
      <div class="metric" role="group" aria-label="by" data-not-in-picture>
        {GROUPS.map((key) => <button key={key} type="button" class="quiet" aria-pressed={key === by} onClick={() => change({ published: key })}>by {CALLED[key]}</button>)}
      </div>
      <FiguresTable caption={`All published runs, by ${CALLED[by]}`} first={CALLED[by]} lines={lines} />
    </Block>
  );
}

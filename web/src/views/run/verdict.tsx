// The answer in a glance: the step with its interval, memory against its limit, throughput, what a training costs.
import type { Prediction } from "../../api/answers";
import { Block } from "../../parts/block";
import { Stack } from "../../parts/bars";
import { Interval } from "../../parts/interval";
import { Standing } from "../../parts/standing";
import { change } from "../../state/store";
import { or_example } from "../../api/question";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { VERDICTS } from "../../text/words";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

const table = (answer: Prediction): string =>
  csv(["figure", "value", "unit"], [
    ["step", answer.step_s, "s"], ["step_low", answer.step_low_s, "s"], ["step_high", answer.step_high_s, "s"],
    ["tokens_per_s_per_gpu", answer.tokens_per_s_per_gpu, "1/s"], ["mfu", answer.mfu, ""],
    ["needed", answer.needed_bytes, "bytes"], ["usable", answer.usable_bytes, "bytes"],
    ["fit_probability", answer.fit_probability, ""],
    ...(answer.training
      ? [["training", answer.training.seconds, "s"], ["training_gpu_hours", answer.training.gpu_hours, "h"],
        ["training_usd", answer.training.usd ?? null, "USD"]] as [string, number | null, string][]
      : []),
  ]);

export function Verdict({ words, answer }: BlocksProps) {
  const measured = Number(words.measured) || undefined;
  const { run } = answer;
  return (
    <Block title="Step" name="step" wide command={() => predict_command(words)} table={() => table(answer)}
      note={<>{run.model} ({format.parameters(answer.params)} parameters) on {run.cluster}: {run.gpus} × {run.gpu}, stack {run.stack}, {run.global_batch} × {run.seq} tokens a step</>}>
      <div class="verdict">
        <div class="step">
          <p class="figure-large" data-testid="step">{format.seconds(answer.step_s)}</p>
          <p class="beside">80 % interval {format.seconds(answer.step_low_s)} to {format.seconds(answer.step_high_s)}</p>
          <Interval value={answer.step_s} low={answer.step_low_s} high={answer.step_high_s} measured={measured} />
          {measured !== undefined && <Measured measured={measured} answer={answer} />}
          <Standing on={answer.calibration} />
        </div>
        <div class={`fits ${answer.verdict}`}>
          <p class="figure-large" data-testid="verdict">{VERDICTS[answer.verdict] ?? answer.verdict}</p>
          <p class="beside">{format.chance(answer.fit_probability)} sure to fit; needs {format.gib(answer.needed_bytes)} of {format.gib(answer.usable_bytes)} a GPU</p>
          <Stack most={Math.max(answer.usable_bytes, answer.needed_bytes) * 1.04} limit={answer.usable_bytes} text={() => format.gib(answer.needed_bytes)}
            pieces={[{ label: "needed", value: answer.needed_bytes, colour: answer.verdict === "fits" ? "c-needed" : "c-over" }]} />
        </div>
        <dl class="figures">
          <div><dt>tokens/s/GPU</dt><dd>{format.count(answer.tokens_per_s_per_gpu)}</dd></div>
          <div><dt>tokens/s in all</dt><dd>{format.count(answer.tokens_per_s_per_gpu * run.gpus)}</dd></div>
          <div><dt>MFU</dt><dd>{format.percent(answer.mfu)}</dd></div>
          <div><dt>bubble, all stages</dt><dd>{format.percent(answer.bubble_fraction)}</dd></div>
          {answer.training && <Cost training={answer.training} />}
        </dl>
      </div>
      {answer.would_fit.length > 0 && <WouldFit words={words} answer={answer} />}
      {answer.would_fit.length === 0 && answer.verdict === "does_not_fit" && (
        <p class="nothing-near">
          Nothing near this plan fits. <button type="button" class="quiet" onClick={() => change({ ...or_example(words), searched: "1" }, "search")}>search all plans</button>
        </p>
      )}
    </Block>
  );
}

function Measured({ measured, answer }: { measured: number; answer: Prediction }) {
  const within = measured >= answer.step_low_s && measured <= answer.step_high_s;
  return (
    <p class="beside">
      measured {format.seconds(measured)}: {format.signed_percent(measured / answer.step_s - 1)} of the prediction, {within ? "inside" : "outside"} the interval
    </p>
  );
}

function Cost({ training }: { training: NonNullable<Prediction["training"]> }) {
  return (
    <>
      <div><dt>training, {format.count(training.tokens)} tokens</dt><dd>{format.duration(training.seconds)}</dd></div>
      <div><dt>80 % interval</dt><dd>{format.duration_range(training.seconds_low, training.seconds_high)}</dd></div>
      <div><dt>GPU-hours</dt><dd>{format.whole(training.gpu_hours)}</dd></div>
      {training.usd !== undefined && <div><dt>price</dt><dd>{format.money(training.usd)}</dd></div>}
    </>
  );
}

// One press takes the change; the page's own link then holds it.
function WouldFit({ words, answer }: BlocksProps) {
  return (
    <div class="would-fit">
      <h3>Would fit</h3>
      <ul>
        {answer.would_fit.map((fix) => (
          <li key={fix.plan}>
            <button type="button" class="quiet" onClick={() => change({ ...or_example(words), plan: fix.plan })}>{fix.change}</button>
            <span>{format.seconds(fix.step_s)}, {format.gib(fix.needed_bytes)}, {format.chance(fix.fit_probability)} sure{fix.trains ? `; ${fix.trains}` : ""}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

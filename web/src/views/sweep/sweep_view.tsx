// One run over a range: one or two keys, the run again at each value.
import type { Point, Sweep } from "../../api/answers";
import { use_answer } from "../../api/latest";
import { or_example, predict_question } from "../../api/question";
import { error_at, refused_field } from "../../api/refused_field";
import { Block } from "../../parts/block";
import { TextField } from "../../parts/field";
import { Figure } from "../../parts/figure";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import { command } from "../../text/command";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { plain, VERDICTS } from "../../text/words";
import { draw_curve, draw_map } from "./draw";
import { METRICS, metric_of } from "./metrics";

const USUAL = ["inter_gbps=100..3200", "tp=1..8", "micro_batch=1..8", "seq=4k..128k", "gpus=64..1024", "zero=0..3", "recompute=none,selective,full", "tp=1..8,pp=1..8"];

export function SweepView({ words }: { words: Words }) {
  // A cluster that is changed is none that a calibration knows.
  const over = words.over ?? USUAL[words.calibration ? 1 : 0];
  const { answer, refusal, asking } = use_answer<Sweep>("over", { ...predict_question(or_example(words)), over });
  const set = (key: string, value: string): void => change({ ...or_example(words), over, [key]: value });
  return (
    <div class="blocks" aria-busy={asking}>
      <section class="wide options sweep-options" aria-label="What is changed">
        <TextField id="over" label="Over" hint="one or two keys of run, plan, cluster or GPU" value={over} mono
          error={error_at(refusal, "over")} take={(value) => set("over", value)} />
        <div class="usual">{USUAL.map((text) => <button key={text} type="button" class="quiet mono" aria-pressed={text === over} onClick={() => set("over", text)}>{text}</button>)}</div>
      </section>
      {refusal && refused_field(refusal) !== "over" && <p class="refusal wide" role="alert">{refusal.message}</p>}
      {answer && <Answered words={words} over={over} sweep={answer} set={set} />}
    </div>
  );
}

interface AnsweredProps {
  words: Words;
  over: string;
  sweep: Sweep;
  set: (key: string, value: string) => void;
}

// "Step over inter_gbps": the unit stands at the axis.
const title_of = (label: string, keys: readonly string[]): string =>
  `${label.charAt(0).toUpperCase()}${label.slice(1).replace(/ \(.*/, "")} over ${keys.join(" and ")}`;

function Answered({ words, over, sweep, set }: AnsweredProps) {
  const metric = metric_of(words.metric);
  const keys = sweep.over.map((axis) => axis.key);
  const asked = (): string => command("predict", or_example(words), [{ option: "--over", value: over }, { option: "--tokens", value: words.tokens ?? "" }]);
  const table = (): string =>
    csv([...keys, "step_s", "step_low_s", "step_high_s", "needed_bytes", "fit_probability", "mfu", "tokens_per_s_per_gpu", "refused"],
      sweep.points.map((p) => [...keys.map((key) => p.at[key]), p.step_s, p.step_low_s, p.step_high_s, p.needed_bytes, p.fit_probability, p.mfu, p.tokens_per_s_per_gpu, p.refused ?? ""]));
  const any = sweep.points.some((point) => point.refused === undefined);
  return (
    <>
      {any && (
        <Block title={title_of(metric.label, keys)} name="sweep" wide command={asked} table={table} note="hollow, or marked !: may not fit or does not; – cannot run">
          <div class="metric" data-not-in-picture>
            {Object.entries(METRICS).map(([word, { label }]) => (
              <button key={word} type="button" class="quiet" aria-pressed={METRICS[word] === metric} onClick={() => set("metric", word === "step" ? "" : word)}>{label}</button>
            ))}
          </div>
          <Figure label={`${metric.label} over ${keys.join(" and ")}; the same figures are in the table`} on={`${JSON.stringify(sweep.points)}${metric.label}`}
            draw={(plot, width) => (sweep.over.length === 1 ? draw_curve : draw_map)(plot, width, sweep, metric)} />
        </Block>
      )}
      <Block title="Points" name="points" wide command={asked} table={table} note={[...sweep.notes, ...sweep.assumed].join("; ")}>
        <div class="scroll" tabIndex={0} role="region" aria-label="Points, table">
          <table class="points">
            <caption class="visually-hidden">The run at each value</caption>
            <thead>
              <tr>
                {keys.map((key) => <th key={key} scope="col" class="number">{key}</th>)}
                <th scope="col" class="number">step (s)</th><th scope="col" class="number">80 % interval</th><th scope="col" class="number">GiB</th>
                <th scope="col">fits</th><th scope="col" class="number">MFU</th><th scope="col" class="number">tokens/s/GPU</th><th scope="col">most of it</th>
              </tr>
            </thead>
            <tbody>{sweep.points.map((point) => <PointRow key={JSON.stringify(point.at)} point={point} keys={keys} />)}</tbody>
          </table>
        </div>
      </Block>
    </>
  );
}

function PointRow({ point, keys }: { point: Point; keys: readonly string[] }) {
  const at = keys.map((key) => <td key={key} class="number strong">{point.at[key]}</td>);
  if (point.refused !== undefined) return <tr>{at}<td colSpan={7} class="quiet-text">cannot run: {point.refused}</td></tr>;
  const { limit } = point;
  const beside = limit.beside_compute && limit.beside_compute !== limit.cause ? `; ${plain(limit.beside_compute)} ${format.percent(limit.beside_compute_share, 0)}` : "";
  return (
    <tr>
      {at}
      <td class="number">{point.step_s.toFixed(3)}</td>
      <td class="number quiet-text">{point.step_low_s.toFixed(3)} to {point.step_high_s.toFixed(3)}</td>
      <td class="number">{format.plain_gib(point.needed_bytes)}</td>
      <td>{point.verdict === "fits" ? format.chance(point.fit_probability) : VERDICTS[point.verdict]}</td>
      <td class="number">{format.percent(point.mfu)}</td>
      <td class="number">{format.count(point.tokens_per_s_per_gpu)}</td>
      <td>{plain(limit.cause)} {format.percent(limit.share, 0)}{beside}</td>
    </tr>
  );
}

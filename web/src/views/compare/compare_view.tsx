// Runs side by side: the one at the side and others, each as what it changes; and what makes the difference.
import type { Prediction } from "../../api/answers";
import { or_example, predict_question } from "../../api/question";
import { use_answers, type Answered } from "../../api/several";
import { Block } from "../../parts/block";
import { Stack } from "../../parts/bars";
import { Field, TextField } from "../../parts/field";
import { change } from "../../state/store";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { by_family } from "../../text/pieces";
import { plain, VERDICTS } from "../../text/words";
import type { Words } from "../../state/fragment";
import { predict_command } from "../run/command";
import { applied, MOST, variants_of, variants_text } from "./variants";

const FIRST = "tp=4;pp=1;recompute=full";  // shown where nobody has said what to compare with

interface Side {
  readonly name: string;
  readonly answer: Prediction;
}

export function CompareView({ words: stated }: { words: Words }) {
  const words = or_example(stated);
  const text = words.with ?? FIRST;
  const variants = variants_of(text);
  const answers = use_answers<Prediction>("predict", ["", ...variants].map((variant) => predict_question(applied(words, variant))));
  const names = ["as asked", ...variants];
  const whole = answers.length === names.length;
  const sides: Side[] = whole ? answers.flatMap((one, i) => ("answer" in one ? [{ name: names[i], answer: one.answer }] : [])) : [];
  const set = (next: readonly string[]): void => change({ ...words, with: variants_text(next) || ";" });
  return (
    <div class="blocks">
      <section class="wide options compare-options" aria-label="What is compared">
        {variants.map((variant, i) => (
          <div key={i} class="variant-field">
            <TextField id={`variant-${i}`} label={`Beside it, ${i + 1}`} value={variant} mono error={whole ? refused(answers[i + 1]) : ""}
              take={(value) => set(variants.map((old, at) => (at === i ? value : old)))} />
            <button type="button" class="quiet" aria-label={`leave out ${variant}`} onClick={() => set(variants.filter((_, at) => at !== i))}>×</button>
          </div>
        ))}
        {variants.length < MOST && (
          <Field id="variant-new" label="One more" hint="what it changes" error="">
            <input id="variant-new" type="text" class="mono" autocomplete="off" placeholder="cluster=aws-p5,zero=3"
              onChange={(event) => {
                const value = event.currentTarget.value.trim();
                event.currentTarget.value = "";
                if (value) set([...variants, value]);
              }} />
          </Field>
        )}
      </section>
      {sides.length > 0 && <Sides sides={sides} command={() => ["", ...variants].map((variant) => predict_command(applied(words, variant))).join("\n")} />}
    </div>
  );
}

const refused = (one: Answered<Prediction>): string => ("refusal" in one ? one.refusal.message : "");

const FIGURES: readonly (readonly [string, (p: Prediction) => string])[] = [
  ["80 % interval", (p) => `${format.seconds(p.step_low_s)} to ${format.seconds(p.step_high_s)}`],
  ["tokens/s/GPU", (p) => format.count(p.tokens_per_s_per_gpu)],
  ["tokens/s in all", (p) => format.count(p.tokens_per_s_per_gpu * p.run.gpus)],
  ["MFU", (p) => format.percent(p.mfu)],
  ["memory", (p) => format.gib(p.needed_bytes)],
  ["fits", (p) => (p.verdict === "fits" ? format.chance(p.fit_probability) : VERDICTS[p.verdict])],
  ["training", (p) => (p.training ? format.duration(p.training.seconds) : "")],
];

function Sides({ sides, command }: { sides: readonly Side[]; command: () => string }) {
  const most = Math.max(...sides.map(({ answer }) => answer.step_s));
  const base = sides[0].answer;
  const figures = FIGURES.filter(([, text]) => sides.some(({ answer }) => text(answer) !== ""));
  const causes = Object.keys(base.breakdown_s).filter((cause) => sides.some(({ answer }) => answer.breakdown_s[cause] > most * 5e-5));
  const table = (): string =>
    csv(["figure", ...sides.map((side) => side.name)],
      [["step_s", ...sides.map((s) => s.answer.step_s)], ["needed_bytes", ...sides.map((s) => s.answer.needed_bytes)],
        ...causes.map((cause) => [`${cause}_s`, ...sides.map((s) => s.answer.breakdown_s[cause])])]);
  return (
    <>
      <Block title="Side by side" name="compare" wide command={command} table={table}>
        <div class="scroll" tabIndex={0} role="region" aria-label="Side by side, table">
          <table class="sides">
            <caption class="visually-hidden">Runs side by side</caption>
            <thead><tr><th scope="col">run</th><td aria-hidden="true" /><th scope="col" class="number">step</th>{figures.map(([name]) => <th key={name} scope="col" class="number">{name}</th>)}</tr></thead>
            <tbody>
              {sides.map(({ name, answer }) => (
                <tr key={name}>
                  <th scope="row" class={name === "as asked" ? "" : "mono"}>{name}</th>
                  <td aria-hidden="true"><Stack pieces={by_family(answer.breakdown_s)} most={most} text={(piece) => `${piece.label} ${format.seconds(piece.value)}`} /></td>
                  <td class="number strong">{format.seconds(answer.step_s)}</td>
                  {figures.map(([figure, text]) => <td key={figure} class={`number${figure === "fits" && answer.verdict !== "fits" ? " bad" : ""}`}>{text(answer)}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Block>
      <Block title="What makes the difference" name="difference" wide command={command} table={table} note="seconds by cause on the busiest stage; of the others what they add or save">
        <div class="scroll" tabIndex={0} role="region" aria-label="What makes the difference, table">
          <table>
            <caption class="visually-hidden">Seconds by cause</caption>
            <thead><tr><th scope="col">cause</th>{sides.map(({ name }) => <th key={name} scope="col" class="number">{name}</th>)}</tr></thead>
            <tbody>
              {causes.map((cause) => (
                <tr key={cause}>
                  <th scope="row">{plain(cause)}</th>
                  {sides.map(({ name, answer }, i) => {
                    const by = answer.breakdown_s[cause] - base.breakdown_s[cause];
                    const text = i === 0 ? format.plain_seconds(answer.breakdown_s[cause]) : Math.abs(by) < 5e-4 ? "·" : `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(3)}`;
                    return <td key={name} class={`number${i > 0 && by > base.step_s * 0.01 ? " more-time" : ""}`}>{text}</td>;
                  })}
                </tr>
              ))}
              <tr class="sum">
                <th scope="row">step</th>
                {sides.map(({ name, answer }, i) => <td key={name} class="number strong">{i === 0 ? format.plain_seconds(answer.step_s) : `${answer.step_s < base.step_s ? "−" : "+"}${Math.abs(answer.step_s - base.step_s).toFixed(3)}`}</td>)}
              </tr>
            </tbody>
          </table>
        </div>
      </Block>
    </>
  );
}

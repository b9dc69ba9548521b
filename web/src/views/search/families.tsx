// One row a split of the GPUs with its best plan; what a row folds away are the nearest other choices of that split.
import { useState } from "preact/hooks";
import type { PlanFamily } from "../../api/answers";
import { Block } from "../../parts/block";
import { PlanText } from "../../parts/plan_text";
import type { Words } from "../../state/fragment";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { search_command } from "./search_question";
import { take_plan, type FoundProps } from "./summary";

export function Families({ words, found }: FoundProps) {
  const families = found.families ?? [];
  const best = families[0].step_s;
  return (
    <Block title="Families" name="families" wide command={() => search_command(words)}
      note="one row a tp, pp, dp, ep, cp and zero, with its best plan; a row opens to what else it could choose"
      table={() => csv(["plan", "step_s", "step_low_s", "step_high_s", "needed_bytes", "fit_probability", "mfu", "plans"],
        families.map((f) => [f.plan, f.step_s, f.step_low_s, f.step_high_s, f.needed_bytes, f.fit_probability, f.mfu, f.plans]))}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Families, table">
        <table class="families">
          <caption class="visually-hidden">Families of plans, the best first</caption>
          <thead>
            <tr>
              <td aria-hidden="true" />
              {["tp", "pp", "dp", "ep", "cp", "zero"].map((key) => <th key={key} scope="col" class="number">{key}</th>)}
              <th scope="col" class="number">step (s)</th><th scope="col" class="number">80 % interval</th><th scope="col" class="number">behind</th>
              <th scope="col" class="number">GiB</th><th scope="col" class="number">fits</th><th scope="col" class="number">MFU</th><th scope="col">plan</th>
            </tr>
          </thead>
          <tbody>{families.map((family) => <FamilyRow key={family.plan} family={family} best={best} words={words} />)}</tbody>
        </table>
      </div>
    </Block>
  );
}

function FamilyRow({ family, best, words }: { family: PlanFamily; best: number; words: Words }) {
  const [open, set_open] = useState(false);
  const behind = family.step_s / best - 1;
  return (
    <>
      <tr>
        <td>
          <button type="button" class="fold" aria-expanded={open} disabled={family.variants.length === 0}
            aria-label={`variants of ${family.plan}`} onClick={() => set_open(!open)}>{open ? "▾" : "▸"}</button>
        </td>
        {[family.tp, family.pp, family.dp, family.ep, family.cp, family.zero].map((value, i) => <td key={i} class="number">{value}</td>)}
        <td class="number strong">{family.step_s.toFixed(3)}</td>
        <td class="number quiet-text">{family.step_low_s.toFixed(2)} to {family.step_high_s.toFixed(2)}</td>
        <td class="number">{behind < 5e-4 ? "" : format.signed_percent(behind)}{family.tied && behind > 0 ? " tied" : ""}</td>
        <td class="number">{format.plain_gib(family.needed_bytes)}</td>
        <td class="number">{format.chance(family.fit_probability)}</td>
        <td class="number">{format.percent(family.mfu)}</td>
        <td><button type="button" class="quiet mono take" onClick={() => take_plan(words, family)}><PlanText text={family.plan} /></button></td>
      </tr>
      {open && family.variants.map((variant) => (
        <tr key={variant.plan} class="variant">
          <td colSpan={7} />
          <td class="number">{variant.step_s.toFixed(3)}</td>
          <td />
          <td class="number">{format.signed_percent(variant.step_s / family.step_s - 1)}{variant.tied ? " tied" : ""}</td>
          <td class="number">{format.plain_gib(variant.peak_bytes)}</td>
          <td colSpan={2} />
          <td><button type="button" class="quiet mono take" onClick={() => take_plan(words, { plan: variant.plan, gpus: family.gpus })}><PlanText text={variant.change} /></button></td>
        </tr>
      ))}
      {open && <tr class="variant"><td colSpan={14} class="quiet-text">{format.whole(family.plans)} plans of this split were kept, the last takes {format.seconds(family.last_step_s)}</td></tr>}
    </>
  );
}

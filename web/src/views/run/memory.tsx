// What a GPU of each stage holds at its peak, against what there is.
import { useState } from "preact/hooks";
import type { Stage } from "../../api/answers";
import { Block } from "../../parts/block";
import { Legend, type Piece, Stack } from "../../parts/bars";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { plain } from "../../text/words";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

// States first, then what passes hold, then what the framework takes for itself.
const PARTS: readonly (readonly [string, string])[] = [
  ["weights", "c-work-1"], ["gradients", "c-work-2"], ["optimizer", "c-work-3"], ["buffers", "c-work-4"],
  ["activations", "c-exchange-1"], ["logits", "c-exchange-2"], ["working", "c-exchange-3"],
  ["workspaces", "c-wait-2"], ["allocator", "c-wait-1"], ["context", "c-wait-2"],
];
const FEW = 8;

function pieces_of(stage: Stage): Piece[] {
  const parts = stage.peak.parts_bytes;
  const known = PARTS.filter(([part]) => (parts[part] ?? 0) > 0);
  const other = Object.keys(parts).filter((part) => parts[part] > 0 && !PARTS.some(([name]) => name === part));
  return [
    ...known.map(([part, colour]) => ({ label: plain(part), value: parts[part], colour })),
    ...other.map((part) => ({ label: plain(part), value: parts[part], colour: "c-wait-1" })),
  ];
}

export function Memory({ words, answer }: BlocksProps) {
  const [all, set_all] = useState(false);
  const { stages, usable_bytes: limit } = answer;
  const shown = all ? stages : stages.slice(0, FEW);
  const most = Math.max(limit, ...stages.map((stage) => stage.total_bytes)) * 1.02;
  const names = new Map(stages.flatMap(pieces_of).map((piece) => [piece.label, piece]));
  const parts = [...new Set(stages.flatMap((stage) => Object.keys(stage.peak.parts_bytes)))];
  return (
    <Block title="Memory by stage" name="memory" wide command={() => predict_command(words)}
      note={<>of one GPU at its peak, in GiB as nvidia-smi counts; the line is what is usable, {format.gib(limit)}</>}
      table={() => csv(["stage", "layers", ...parts.map((part) => `${part}_bytes`), "total_bytes"],
        stages.map((stage, i) => [i + 1, stage.layers, ...parts.map((part) => stage.peak.parts_bytes[part] ?? 0), stage.total_bytes]))}>
      <Legend pieces={[...names.values()]} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Memory by stage, table">
      <table class="memory">
        <caption class="visually-hidden">Memory by stage, GiB</caption>
        <thead>
          <tr>
            <th scope="col">stage</th><td aria-hidden="true" />
            <th scope="col" class="number">layers</th><th scope="col" class="number">states</th>
            <th scope="col" class="number">activations</th><th scope="col" class="number">reserved</th><th scope="col" class="number">total</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((stage, i) => <StageRow key={i} place={i} stage={stage} most={most} limit={limit} />)}
        </tbody>
      </table>
      </div>
      {stages.length > FEW && (
        <button type="button" class="quiet unfold" aria-expanded={all} onClick={() => set_all(!all)} data-not-in-picture>
          {all ? "fewer" : `all ${stages.length} stages`}
        </button>
      )}
    </Block>
  );
}

function StageRow({ place, stage, most, limit }: { place: number; stage: Stage; most: number; limit: number }) {
  const parts = stage.peak.parts_bytes;
  const states = (parts.weights ?? 0) + (parts.gradients ?? 0) + (parts.optimizer ?? 0);
  return (
    <tr class={stage.needed_bytes > limit ? "over" : ""}>
      <th scope="row">{place + 1}</th>
      <td aria-hidden="true">
        <Stack pieces={pieces_of(stage)} most={most} limit={limit} text={(piece) => `${piece.label} ${format.gib(piece.value)}`} />
      </td>
      <td class="number">{stage.layers}</td>
      <td class="number">{format.plain_gib(states)}</td>
      <td class="number">{format.plain_gib(parts.activations ?? 0)}</td>
      <td class="number">{format.plain_gib(stage.reserved_bytes)}</td>
      <td class="number">{format.plain_gib(stage.total_bytes)}</td>
    </tr>
  );
}

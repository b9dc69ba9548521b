// The step in time: what every stage does and waits for, the chain that the step waits for, memory below.
import { useMemo, useState } from "preact/hooks";
import type { Prediction } from "../../api/answers";
import { use_answer } from "../../api/latest";
import { calibrated, or_example, question } from "../../api/question";
import { Block } from "../../parts/block";
import { Legend } from "../../parts/bars";
import { change } from "../../state/store";
import { command } from "../../text/command";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import type { BlocksProps } from "../run/run_view";
import type { Timeline } from "./answer";
import { TimelineCanvas } from "./canvas";
import { scene_of, type Scene } from "./scene";
import { StageTimes } from "./stage_times";
import { window_of, window_text, zoomed, type Window } from "./window";

const KEY = [
  { label: "forward", value: 1, colour: "c-work-2" }, { label: "backward", value: 1, colour: "c-work-1" },
  { label: "backward to weights", value: 1, colour: "c-work-3" }, { label: "optimizer", value: 1, colour: "c-work-4" },
  { label: "messages", value: 1, colour: "c-exchange-1" }, { label: "gradient reduce", value: 1, colour: "c-exchange-2" },
  { label: "parameter gather", value: 1, colour: "c-exchange-3" }, { label: "waiting", value: 1, colour: "c-wait-2" },
];

function table({ timeline }: Scene): string {
  const { events } = timeline;
  return csv(["stage", "lane", "kind", "micro_batch", "from_s", "to_s"],
    events.stage.map((stage, i) => [stage + 1, timeline.lanes[events.lane[i]], timeline.kinds[events.kind[i]],
      events.micro_batch[i], events.from_ns[i] / 1e9, events.to_ns[i] / 1e9]));
}

export function TimelineView({ words, answer }: BlocksProps) {
  const asked = { ...calibrated(words, question(or_example(words))), views: { timeline: true } };
  const { answer: told, refusal } = use_answer<{ answer: Prediction; timeline: Timeline }>("predict", asked);
  const scene = useMemo(() => (told ? scene_of(told.timeline) : null), [told]);
  if (!scene) return <p class="waiting">{refusal ? refusal.message : "drawing…"}</p>;
  return (
    <div class="blocks">
      <Drawn words={words} answer={answer} scene={scene} />
      <StageTimes words={words} answer={answer} />
    </div>
  );
}

function Drawn({ words, answer, scene }: BlocksProps & { scene: Scene }) {
  const { timeline } = scene;
  const step = timeline.step_ns;
  // While it is moved the window is this view's own; the link follows.
  const [moved, set_moved] = useState<Window | null>(null);
  const in_link = window_of(words.window ?? "", step);
  const seen = moved && window_text(moved) === (words.window ?? "") ? moved : in_link;
  const look = (to: Window): void => {
    set_moved(to);
    change({ window: to.from <= 0 && to.to >= step ? "" : window_text(to) });
  };
  const with_path = words.path !== "0";
  return (
    <Block title="The step in time" name="timeline" wide table={() => table(scene)}
      command={() => command("predict", or_example(words), [{ option: "--trace", value: "step.json" }])}
      note={<>{format.seconds(step / 1e9)}; {scene.bars.toLocaleString("en-US")} bars of {timeline.stages} {timeline.stages === 1 ? "stage" : "stages"}. A stage stands for all its GPUs, which do the same. {timeline.note}</>}>
      <div class="timeline-tools" data-not-in-picture>
        <button type="button" class="quiet" onClick={() => look(zoomed(seen, 0.5, 0.5, step))}>closer</button>
        <button type="button" class="quiet" onClick={() => look(zoomed(seen, 2, 0.5, step))}>wider</button>
        <button type="button" class="quiet" onClick={() => look({ from: 0, to: step })}>all</button>
        <label><input type="checkbox" checked={with_path} onChange={(event) => change({ path: event.currentTarget.checked ? "" : "0" })} />critical path</label>
        <small>drag to move, ctrl + wheel or double click to look closer, arrow keys from bar to bar</small>
      </div>
      <Legend pieces={with_path ? [...KEY, { label: "critical path (the line above a stage)", value: 1, colour: "c-ink" }] : KEY} />
      <TimelineCanvas scene={scene} seen={seen} limit={answer.usable_bytes} with_path={with_path} look={look} />
    </Block>
  );
}

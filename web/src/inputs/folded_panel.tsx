// The question on a narrow screen: once it has its answer it folds to a line, so that the answer is what one sees first. It
// opens again where something in it is wrong.
import { useEffect, useState } from "preact/hooks";
import { or_example } from "../api/question";
import { Panel, type PanelProps } from "./panel";

const NARROW = "(max-width: 860px)";

function use_narrow(): boolean {
  const [narrow, set_narrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const follow = (): void => set_narrow(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  return narrow;
}

export function FoldedPanel(props: PanelProps) {
  const narrow = use_narrow();
  const [opened, set_opened] = useState(false);
  if (!narrow) return <Panel {...props} />;
  const words = or_example(props.words);
  const { answer } = props;
  const said = answer
    ? [answer.run.model, `${answer.run.gpus} × ${answer.run.gpu}`, props.with_plan ? (words.plan ?? "") : ""].filter(Boolean).join(", ")
    : "the question";
  const open = opened || props.refusal !== null;
  return (
    <details class="folded" open={open} onToggle={(event) => set_opened(event.currentTarget.open)}>
      <summary><span>{said}</span> <strong>{open ? "fold" : "change"}</strong></summary>
      <Panel {...props} />
    </details>
  );
}

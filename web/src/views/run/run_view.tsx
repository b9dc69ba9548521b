// One run: how long its step takes and how sure that is, whether it fits, where the time goes, what it rests on.
import type { Prediction } from "../../api/answers";
import type { Words } from "../../state/fragment";
import { Assumed } from "./assumed";
import { Breakdown } from "./breakdown";
import { Memory } from "./memory";
import { Operators } from "./operators";
import { Origin } from "./origin";
import { Verdict } from "./verdict";

export interface BlocksProps {
  words: Words;
  answer: Prediction;
}

export function RunView({ words, answer }: BlocksProps) {
  return (
    <div class="blocks">
      <Verdict words={words} answer={answer} />
      <Breakdown words={words} answer={answer} />
      <Operators words={words} answer={answer} />
      <Memory words={words} answer={answer} />
      <Origin words={words} answer={answer} />
      <Assumed words={words} answer={answer} />
    </div>
  );
}

// What nobody stated, and the plan with all that the stack chose.
import { Block } from "../../parts/block";
import { csv } from "../../text/csv";
import { predict_command } from "./command";
import type { BlocksProps } from "./run_view";

const text_of = (value: unknown): string =>
  value === null ? "–" : Array.isArray(value) ? value.join("+") || "none" : String(value);

export function Assumed({ words, answer }: BlocksProps) {
  const plan = Object.entries(answer.run.plan);
  return (
    <Block title="What is assumed" name="plan" command={() => predict_command(words)}
      table={() => csv(["key", "value"], plan.map(([key, value]) => [key, text_of(value)]))}>
      {answer.assumed.length === 0 ? <p>Nothing: all of it was stated.</p> : (
        <ul class="assumed">{answer.assumed.map((line) => <li key={line}>{line}</li>)}</ul>
      )}
      <details>
        <summary>the whole plan, with what the stack chose</summary>
        <dl class="plan-keys">
          {plan.map(([key, value]) => <div key={key}><dt>{key}</dt><dd>{text_of(value)}</dd></div>)}
        </dl>
      </details>
    </Block>
  );
}

// What starts the best plan: a script for a framework, to copy.
import { useEffect, useState } from "preact/hooks";
import type { Planned } from "../../api/answers";
import { ask, Refusal } from "../../api/client";
import { question } from "../../api/question";
import { Block } from "../../parts/block";
import { CopyButton } from "../../parts/copy";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import { run_of, search_command } from "./search_question";

const FRAMEWORKS = ["megatron", "megatron-bridge", "torchtitan", "nanotron", "deepspeed", "accelerate"];

export function Launch({ words, best }: { words: Words; best: Planned }) {
  const [text, set_text] = useState("");
  const [refusal, set_refusal] = useState("");
  const framework = words.launch ?? "";
  const chosen = run_of(words, best);
  useEffect(() => {
    if (framework === "") return undefined;
    let here = true;
    set_text("");
    set_refusal("");
    launch_text(chosen, framework).then(
      (answer) => here && set_text(answer),
      (failure: unknown) => here && set_refusal(failure instanceof Refusal ? failure.message : String(failure)),
    );
    return () => {
      here = false;
    };
  }, [framework, best.plan]);
  return (
    <Block title="Launch it" name="launch" wide picture={false} 
      command={() => search_command(words, [{ option: "--launch", value: framework || "megatron" }])}>
      <div class="launch-tools">
        <label for="launch-framework">the best plan as what starts it, of</label>
        <select id="launch-framework" value={framework} onChange={(event) => change({ launch: event.currentTarget.value })}>
          <option value="">choose a framework</option>
          {FRAMEWORKS.map((name) => <option key={name}>{name}</option>)}
        </select>
        {text && <CopyButton text={() => text} label="copy" what="copy the launch script" />}
      </div>
      {refusal && <p class="error" role="alert">{refusal}</p>}
      {text && <pre class="mono" tabIndex={0} aria-label="launch script">{text}</pre>}
    </Block>
  );
}

// A run in words becomes the text of one, which convert reads as it does a file.
async function launch_text(words: Words, framework: string): Promise<string> {
  const asked = question(words);
  const run = asked.run ?? { name: "run.yaml", text: JSON.stringify(Object.fromEntries(["model", "cluster"].map((key) => [key, words[key]]))) };
  const answer = await ask<{ text: string }>("convert", { ...asked, run, to: framework, json: false });
  return answer.text;
}

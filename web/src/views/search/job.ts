// A search under way: started, looked at a few times a second, given up when nobody looks any more.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Found, Progress } from "../../api/answers";
import { ask, leave, look, Refusal } from "../../api/client";
import type { Question } from "../../api/question";

export type JobState =
  | { readonly is: "idle" }
  | { readonly is: "running"; readonly progress: Progress | null }
  | { readonly is: "done"; readonly found: Found; readonly asked: string }
  | { readonly is: "stopped" }
  | { readonly is: "refused"; readonly refusal: Refusal };

export interface Job {
  readonly state: JobState;
  readonly start: (question: Question) => void;
  readonly stop: () => void;
}

const LOOK_EVERY_MS = 150;
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export function use_job(): Job {
  const [state, set_state] = useState<JobState>({ is: "idle" });
  // The number of the search that is shown: what an earlier one still says is not heard.
  const turn = useRef(0);
  const id = useRef("");
  const give_up = (): void => {
    turn.current++;
    if (id.current !== "") void leave(`search/${id.current}`).catch(() => undefined);
    id.current = "";
  };
  const run = async (question: Question, mine: number): Promise<void> => {
    const begun = await ask<{ id: string | number }>("search", question);
    if (mine !== turn.current) return void leave(`search/${begun.id}`).catch(() => undefined);
    id.current = String(begun.id);
    for (;;) {
      const progress = await look<Progress>(`search/${begun.id}`);
      if (mine !== turn.current) return undefined;
      if (progress.done && progress.answer) {
        id.current = "";
        return set_state({ is: "done", found: progress.answer, asked: JSON.stringify(question) });
      }
      if (progress.done) throw new Refusal("the search ended without an answer", "", 0);
      set_state({ is: "running", progress });
      await pause(LOOK_EVERY_MS);
    }
  };
  const start = (question: Question): void => {
    give_up();
    const mine = turn.current;
    set_state({ is: "running", progress: null });
    run(question, mine).catch((failure: unknown) => {
      if (mine !== turn.current) return;
      id.current = "";
      set_state({ is: "refused", refusal: failure instanceof Refusal ? failure : new Refusal(String(failure), "", 0) });
    });
  };
  const stop = (): void => {
    give_up();
    set_state({ is: "stopped" });
  };
  useEffect(() => {
    addEventListener("pagehide", give_up);
    return () => {
      removeEventListener("pagehide", give_up);
      give_up();
    };
  }, []);
  return { state, start, stop };
}

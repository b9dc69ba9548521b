// A search under way: started, looked at a few times a second, given up when nobody looks any more.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Found, SearchJob, Swept } from "../../api/answers";
import { ask, leave, look, Refusal } from "../../api/client";
import type { Question } from "../../api/question";

export type JobState =
  | { readonly is: "idle" }
  | { readonly is: "running"; readonly job: SearchJob | null }
  | { readonly is: "done"; readonly found: Found | Swept; readonly asked: string }
  | { readonly is: "stopped" }
  | { readonly is: "refused"; readonly refusal: Refusal };

export interface Job {
  readonly state: JobState;
  readonly start: (question: Question) => void;
  readonly take_best: () => void;  // so far
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
    const begun = await ask<{ id: string }>("search", question);
    if (mine !== turn.current) return void leave(`search/${begun.id}`).catch(() => undefined);
    id.current = begun.id;
    for (;;) {
      const job = await look<SearchJob>(`search/${begun.id}`);
      if (mine !== turn.current) return undefined;
      if (job.error) throw new Refusal(job.error.message, job.error.field ?? "", 422);
      if (job.answer) {
        id.current = "";
        return set_state({ is: "done", found: job.answer, asked: JSON.stringify(question) });
      }
      set_state({ is: "running", job });
      await pause(LOOK_EVERY_MS);
    }
  };
  const start = (question: Question): void => {
    give_up();
    const mine = turn.current;
    set_state({ is: "running", job: null });
    run(question, mine).catch((failure: unknown) => {
      if (mine !== turn.current) return;
      id.current = "";
      set_state({ is: "refused", refusal: failure instanceof Refusal ? failure : new Refusal(String(failure), "", 0) });
    });
  };
  const take_best = (): void => {
    if (id.current !== "") void ask(`search/${id.current}/stop`, {}).catch(() => undefined);
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
  return { state, start, take_best, stop };
}

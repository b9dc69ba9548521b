// The best plan out of all of them: what to look for, how far the search is, what it found.
import { useEffect } from "preact/hooks";
import { or_example } from "../../api/question";
import { error_at, refused_field } from "../../api/refused_field";
import type { Words } from "../../state/fragment";
import { change } from "../../state/store";
import * as format from "../../text/format";
import type { SearchJob } from "../../api/answers";
import { Families } from "./families";
import { Front } from "./front";
import { use_job, type JobState } from "./job";
import { Launch } from "./launch";
import { Points } from "./points";
import { search_question } from "./search_question";
import { SearchOptions } from "./options";
import { Summary } from "./summary";
import { WhyNot } from "./why_not";

export function SearchView({ words }: { words: Words }) {
  const job = use_job();
  const asked = search_question(words);
  const text = JSON.stringify(asked);
  const start = (): void => {
    change({ ...or_example(words), searched: "1" });
    job.start(asked);
  };
  // A link to what a search found asks it again.
  useEffect(() => {
    if (words.searched === "1") job.start(asked);
  }, []);
  const { state } = job;
  const refusal = state.is === "refused" ? state.refusal : null;
  const changed = state.is === "done" && state.asked !== text;
  return (
    <div class={`blocks${changed ? " changed" : ""}`}>
      <section class="wide search-start" aria-label="What to look for">
        <SearchOptions words={words} error={(field) => error_at(refusal, field)} start={start} />
        <div class="start">
          {state.is === "running"
            ? <span><button type="button" class="main-button" onClick={job.stop}>Cancel</button> <button type="button" class="quiet" onClick={job.take_best}>end with the best so far</button></span>
            : <button type="button" class="main-button" onClick={start}>Search</button>}
          <State state={state} changed={changed} />
        </div>
        {refusal && !FIELDS.includes(refused_field(refusal)) && <p class="refusal" role="alert">{refusal.message}</p>}
      </section>
      {state.is === "done" && <Results words={words} state={state} />}
    </div>
  );
}

const FIELDS = ["objective", "headroom", "deadline", "budget", "time", "set", "range", "forbid", "why"];

function Results({ words, state }: { words: Words; state: JobState & { is: "done" } }) {
  const { found } = state;
  if ("points" in found) return <Points words={words} swept={found} />;
  return (
    <>
      <Summary words={words} found={found} />
      {(found.families?.length ?? 0) > 0 && <Families words={words} found={found} />}
      {(found.pareto?.length ?? 0) > 1 && <Front words={words} found={found} />}
      {(found.why?.length ?? 0) > 0 && <WhyNot words={words} found={found} />}
      {found.best.length > 0 && <Launch words={words} best={found.best[0]} />}
    </>
  );
}

function State({ state, changed }: { state: JobState; changed: boolean }) {
  if (state.is === "running") return <Running job={state.job} />;
  if (state.is === "stopped") return <p role="status">cancelled</p>;
  if (state.is === "done") {
    const { found } = state;
    const looked = found.interrupted ? `stopped after ${format.seconds(found.seconds)}` : `${format.whole(found.candidates)} plans in ${format.seconds(found.seconds)}`;
    return <p role="status">{changed ? "The question has changed since." : looked}</p>;
  }
  return <p class="quiet-text" role="status">{state.is === "idle" ? "Looks at every legal plan for what is at the side: the fastest, what each split of the GPUs can do, time against memory, and why not another." : ""}</p>;
}

function Running({ job }: { job: SearchJob | null }) {
  if (!job || job.all === 0) return <p role="status">{waiting(job)}</p>;
  return (
    <div class="running">
      <progress max={job.all} value={job.decided} aria-label="plans decided" />
      <p>
        {format.whole(job.decided)} of {format.whole(job.all)} plans decided
        {job.best_s !== null && `; best so far ${format.seconds(job.best_s)}`}
        {job.gap !== null && (job.gap > 0 ? `, at most ${format.percent(job.gap)} from the best there is` : ", none is better")}
      </p>
    </div>
  );
}

const waiting = (job: SearchJob | null): string =>
  job && job.before > 0 ? `${job.before} ${job.before === 1 ? "search goes" : "searches go"} first` : "starting";

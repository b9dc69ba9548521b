// The page: its head, the question at the side, and the view that was chosen.
import { useLayoutEffect } from "preact/hooks";
import type { Prediction } from "./api/answers";
import { use_answer, type Latest } from "./api/latest";
import type { Refusal } from "./api/client";
import { or_example, predict_question, type Question } from "./api/question";
import { refused_field } from "./api/refused_field";
import { DropArea } from "./drop/area";
import { Notice } from "./drop/notice";
import { FoldedPanel } from "./inputs/folded_panel";
import { CopyButton } from "./parts/copy";
import { format_fragment, VIEWS, type State, type View } from "./state/fragment";
import { change, use_state } from "./state/store";
import { ThemeButton } from "./theme";
import { CompareView } from "./views/compare/compare_view";
import { RunView } from "./views/run/run_view";
import { ScoreboardView } from "./views/scoreboard/scoreboard_view";
import { SearchView } from "./views/search/search_view";
import { SweepView } from "./views/sweep/sweep_view";
import { TimelineView } from "./views/timeline/timeline_view";

const TITLES: Readonly<Record<View, string>> = {
  run: "Run", timeline: "Timeline", search: "Search", sweep: "Sweep", compare: "Compare", scoreboard: "Scoreboard",
};

// A search divides the batch and the GPUs by itself, and takes several of them and of lengths: what a plan makes of them is
// not its matter.
const concerns = (view: View, refusal: Refusal | null): boolean =>
  refusal !== null && (view !== "search" || !["plan", "gpus", "global_batch", "seq", ""].includes(refused_field(refusal)));

const file_of = (asked: Question | null): string => JSON.stringify([asked?.run, typeof asked?.model === "object" ? asked.model : null]);

// From a change to its answer on the screen; the browser tests read it.
function measure_answer(): void {
  requestAnimationFrame(() => {
    if (performance.getEntriesByName("change").length === 0) return;
    performance.measure("change to answer", "change");
    performance.clearMarks("change");
  });
}

export function App() {
  const state = use_state();
  const asked = predict_question(or_example(state.words));
  const seen = use_answer<Prediction>("predict", asked);
  // What was told of another file says nothing of one that has no answer.
  const base = seen.refusal && file_of(seen.of) !== file_of(asked) ? { ...seen, answer: null } : seen;
  const refusal = concerns(state.view, base.refusal) ? base.refusal : null;
  useLayoutEffect(() => {
    if (base.answer && !base.asking) measure_answer();
  }, [base]);
  useLayoutEffect(() => {
    document.title = `${TITLES[state.view]}${base.answer ? ` · ${base.answer.run.model}` : ""} · Foretrain`;
  }, [state.view, base.answer]);
  return (
    <>
      <a class="skip" href="#answer" onClick={(event) => {
        event.preventDefault();
        document.getElementById("answer")?.focus();
      }}>to the answer</a>
      <Head state={state} />
      <Notice />
      <div class="shell">
        <FoldedPanel words={state.words} answer={base.answer} refusal={refusal} with_plan={state.view !== "search"} />
        <main id="answer" tabIndex={-1} aria-busy={base.asking} class={refusal && state.view !== "scoreboard" ? "stale" : ""}>
          <h1 class="visually-hidden">{TITLES[state.view]}</h1>
          {refusal && refused_field(refusal) === "" && <p class="refusal" role="alert">{refusal.message}</p>}
          <Chosen state={state} base={base} />
        </main>
      </div>
      <DropArea />
    </>
  );
}

function Head({ state }: { state: State }) {
  return (
    <header class="head">
      <p class="name"><strong>Foretrain</strong> <span>know before you train</span></p>
      <nav aria-label="Views">
        {VIEWS.map((view) => (
          <a key={view} href={format_fragment({ view, words: state.words })} aria-current={view === state.view ? "page" : undefined}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              change({}, view);
            }}>{TITLES[view]}</a>
        ))}
      </nav>
      <div class="tools">
        {/* A link says all that was asked, so that it means the same where another example is built in. */}
        <CopyButton text={() => `${location.origin}${location.pathname}${format_fragment({ view: state.view, words: or_example(state.words) })}`}
          label="link" what="copy the link to these numbers" />
        <ThemeButton />
      </div>
    </header>
  );
}

function Chosen({ state, base }: { state: State; base: Latest<Prediction> }) {
  const { words } = state;
  switch (state.view) {
    case "scoreboard": return <ScoreboardView words={words} />;
    case "search": return <SearchView words={words} />;
    case "sweep": return <SweepView words={words} />;
    case "compare": return <CompareView words={words} />;
  }
  const { answer } = base;
  if (!answer) return <p class="waiting">{base.refusal ? `No answer: ${base.refusal.message}` : "asking…"}</p>;
  return state.view === "timeline" ? <TimelineView words={words} answer={answer} /> : <RunView words={words} answer={answer} />;
}

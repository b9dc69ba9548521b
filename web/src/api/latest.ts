// The answer to the question as it stands now. A question that changes while one is under way leaves that one and
// is asked at once: no time is spent waiting for the hand to stop, and no older answer comes after a newer one.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, is_abort, Refusal } from "./client";
import type { Question } from "./question";

export interface Latest<T> {
  readonly answer: T | null;   // of the last question that had one
  readonly of: Question | null;  // that question
  readonly refusal: Refusal | null;
  readonly asking: boolean;    // the answer is older than the question
}

const SMALL_GAP_MS = 4;  // several changes of one event are one question

export function use_answer<T>(route: string, body: Question | null): Latest<T> {
  const [seen, set_seen] = useState<Latest<T>>({ answer: null, of: null, refusal: null, asking: body !== null });
  const text = body === null ? "" : `${route} ${JSON.stringify(body)}`;
  const last = useRef<{ answer: T; of: Question } | null>(null);
  useLayoutEffect(() => {
    if (body === null) return undefined;
    const stop = new AbortController();
    set_seen((before) => ({ ...before, asking: true }));
    const timer = setTimeout(() => {
      ask<T>(route, body, stop.signal).then(
        (answer) => {
          last.current = { answer, of: body };
          performance.mark("answer");
          set_seen({ answer, of: body, refusal: null, asking: false });
        },
        (failure: unknown) => {
          if (is_abort(failure) || stop.signal.aborted) return;
          const refusal = failure instanceof Refusal ? failure : new Refusal(String(failure), "", 0);
          set_seen({ answer: last.current?.answer ?? null, of: last.current?.of ?? null, refusal, asking: false });
        },
      );
    }, SMALL_GAP_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return seen;
}

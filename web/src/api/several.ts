// The answers to several questions of one kind, each by itself: one that is refused leaves the others.
import { useLayoutEffect, useState } from "preact/hooks";
import { ask, is_abort, Refusal } from "./client";
import type { Question } from "./question";

export type Answered<T> = { readonly answer: T } | { readonly refusal: Refusal };

export function use_answers<T>(route: string, bodies: readonly Question[]): readonly Answered<T>[] {
  const [seen, set_seen] = useState<readonly Answered<T>[]>([]);
  const text = JSON.stringify(bodies);
  useLayoutEffect(() => {
    const stop = new AbortController();
    const one = (body: Question): Promise<Answered<T>> =>
      ask<T>(route, body, stop.signal).then(
        (answer) => ({ answer }),
        (failure: unknown) => {
          if (is_abort(failure)) throw failure;
          return { refusal: failure instanceof Refusal ? failure : new Refusal(String(failure), "", 0) };
        },
      );
    Promise.all(bodies.map(one)).then((answers) => stop.signal.aborted || set_seen(answers), () => undefined);
    return () => stop.abort();
  }, [text]);
  return seen;
}

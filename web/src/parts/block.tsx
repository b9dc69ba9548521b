// A block of numbers: a heading, what they are, and the ways out of the page: the command that makes them, a table, a
// picture.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { CopyButton } from "./copy";
import { picture_of } from "./picture";
import { save } from "./save";

export interface BlockProps {
  title: string;
  note?: ComponentChildren;
  name: string;           // of the files that come out
  command?: () => string;
  table?: () => string;   // CSV
  picture?: boolean;
  wide?: boolean;
  children?: ComponentChildren;
}

export function Block(props: BlockProps) {
  const id = useId();
  const body = useRef<HTMLElement>(null);
  const { table, command } = props;
  return (
    <section class={`block${props.wide ? " wide" : ""}`} aria-labelledby={id} ref={body}>
      <header class="block-head">
        <h2 id={id}>{props.title}</h2>
        <div class="ways-out" data-not-in-picture>
          {command && <CopyButton text={command} label="command" what={`${props.title}: copy the command`} />}
          {table && (
            <button type="button" class="quiet" aria-label={`${props.title}: save as CSV`}
              onClick={() => save(`${props.name}.csv`, new Blob([table()], { type: "text/csv" }))}>
              CSV
            </button>
          )}
          {props.picture !== false && (
            <button type="button" class="quiet" aria-label={`${props.title}: save as PNG`}
              onClick={() => void picture_of(body.current!).then((blob) => save(`${props.name}.png`, blob))}>
              PNG
            </button>
          )}
        </div>
      </header>
      {props.note && <p class="note">{props.note}</p>}
      {props.children}
    </section>
  );
}

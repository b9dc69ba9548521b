// A field with completion: any text may stand in it, the names that are known are offered (the combobox pattern of
// WAI-ARIA: arrows choose, Enter takes, Escape closes).
import { useId, useState } from "preact/hooks";
import type { Named } from "../api/lists";

const MOST_OFFERED = 60;

// Names that begin with what was typed, then those that contain its words.
export function offered(names: readonly Named[], typed: string): Named[] {
  const words = typed.toLowerCase().split(/[\s-]+/).filter(Boolean);
  const matching = names.filter(({ name, note }) => words.every((word) => `${name} ${note}`.toLowerCase().includes(word)));
  const begins = (named: Named): number => (named.name.startsWith(typed.toLowerCase()) ? 0 : 1);
  return matching.sort((a, b) => begins(a) - begins(b)).slice(0, MOST_OFFERED);
}

// Around the list; -1 is the field itself.
function next_place(at: number, step: number, length: number): number {
  if (length === 0) return -1;
  return at < 0 ? (step > 0 ? 0 : length - 1) : (at + step + length) % length;
}

export interface ComboboxProps {
  id: string;
  value: string;
  placeholder?: string;
  names: readonly Named[];
  invalid: boolean;
  described: string;
  take: (value: string) => void;
}

export function Combobox(props: ComboboxProps) {
  const list = useId();
  const [typed, set_typed] = useState<string | null>(null);  // null: closed
  const [at, set_at] = useState(-1);
  const open = typed !== null;
  // What stands there when the field is entered is the choice so far, not a search for it.
  const shown = open ? offered(props.names, typed === props.value ? "" : typed) : [];
  const close = (): void => {
    set_typed(null);
    set_at(-1);
  };
  const take = (value: string): void => {
    close();
    if (value !== props.value) props.take(value);
  };
  const press = (event: { key: string; preventDefault(): void }): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) set_typed(props.value);
      else set_at(next_place(at, event.key === "ArrowDown" ? 1 : -1, shown.length));
    } else if (event.key === "Enter" && open) take(shown[at]?.name ?? typed);
    else if (event.key === "Escape") close();
  };
  return (
    <div class="combobox">
      <input id={props.id} type="text" role="combobox" autocomplete="off" spellcheck={false}
        aria-expanded={open && shown.length > 0} aria-controls={list} aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined} aria-invalid={props.invalid}
        aria-describedby={props.described} placeholder={props.placeholder} value={typed ?? props.value}
        onFocus={(event) => event.currentTarget.select()} onClick={() => open || set_typed(props.value)}
        onInput={(event) => {
          set_typed(event.currentTarget.value);
          set_at(-1);
        }}
        onKeyDown={press} onBlur={() => typed !== null && take(typed)} />
      <ul id={list} role="listbox" aria-label="known names" hidden={!open || shown.length === 0}>
        {shown.map((named, i) => (
          <li key={named.name} id={`${list}-${i}`} role="option" aria-selected={i === at}
            ref={(element) => void (i === at && element?.scrollIntoView({ block: "nearest" }))}
            onMouseDown={(event) => {
              event.preventDefault();
              take(named.name);
            }}>
            <span>{named.name}</span>
            <small>{named.note}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

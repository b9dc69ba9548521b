// A label, a field and what is wrong with it, tied together for who sees them and for who hears them.
import type { ComponentChildren } from "preact";

export interface FieldProps {
  id: string;
  label: string;
  hint?: string;
  error: string;
  children: ComponentChildren;
}

export const error_id = (id: string): string => `${id}-error`;

export function Field({ id, label, hint, error, children }: FieldProps) {
  return (
    <div class={`field${error ? " wrong" : ""}`}>
      <label for={id}>
        {label}
        {hint && <small>{hint}</small>}
      </label>
      {children}
      <p class="error" id={error_id(id)} role={error ? "alert" : undefined} hidden={!error}>{error}</p>
    </div>
  );
}

export interface TextFieldProps {
  id: string;
  label: string;
  hint?: string;
  value: string;
  placeholder?: string;
  error: string;
  mono?: boolean;
  take: (value: string) => void;
}

// Takes what was typed when it is done with (Enter, or leaving the field): half a word is no question.
export function TextField(props: TextFieldProps) {
  return (
    <Field id={props.id} label={props.label} hint={props.hint} error={props.error}>
      <input id={props.id} type="text" class={props.mono ? "mono" : ""} autocomplete="off" spellcheck={false}
        value={props.value} placeholder={props.placeholder} aria-invalid={props.error !== ""}
        aria-describedby={error_id(props.id)} onChange={(event) => props.take(event.currentTarget.value.trim())} />
    </Field>
  );
}

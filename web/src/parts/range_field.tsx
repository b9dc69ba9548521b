// A choice among a few numbers, to be dragged, stepped with arrow keys, or pressed one up and one down.

export interface RangeProps {
  id: string;
  label: string;
  title: string;
  value: number;
  values: readonly number[];
  stated: boolean;  // by the plan; otherwise it is what the answer took
  take: (value: number) => void;
}

export function RangeField({ id, label, title, value, values, stated, take }: RangeProps) {
  const known = values.includes(value) ? values : [...values, value].sort((a, b) => a - b);
  const at = known.indexOf(value);
  const go = (to: number): void => {
    if (to >= 0 && to < known.length && to !== at) take(known[to]);
  };
  return (
    <div class="range-field" title={title}>
      <label for={id}>{label}</label>
      <button type="button" class="step" tabIndex={-1} aria-hidden="true" disabled={at === 0} onClick={() => go(at - 1)}>−</button>
      <input id={id} type="range" min={0} max={Math.max(known.length - 1, 1)} step={1} value={at}
        aria-valuetext={String(value)} disabled={known.length < 2}
        onInput={(event) => go(Number(event.currentTarget.value))} />
      <button type="button" class="step" tabIndex={-1} aria-hidden="true" disabled={at === known.length - 1} onClick={() => go(at + 1)}>+</button>
      <output for={id} class={stated ? "" : "by-itself"}>{value}</output>
    </div>
  );
}

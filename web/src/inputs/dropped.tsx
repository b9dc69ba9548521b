// What was dropped on the page or chosen: its name, what it was recognised as, and a way to be rid of it.
import { useRef } from "preact/hooks";
import { change } from "../state/store";
import type { Words } from "../state/fragment";
import { take_file } from "../drop/take_file";

export function Dropped({ words, error }: { words: Words; error: string }) {
  const chooser = useRef<HTMLInputElement>(null);
  const held = words.run ? { name: words.run_name ?? "run", what: words.run_is ?? "a run" }
    : words.model_text ? { name: words.model_name ?? "config.json", what: "a model" } : null;
  const forget = (): void =>
    change({ run: "", run_name: "", run_is: "", measured: "", model_text: "", model_name: "" });
  return (
    <div class="dropped">
      <input ref={chooser} type="file" class="visually-hidden" tabIndex={-1} aria-hidden="true"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) void take_file(file);
        }} />
      {held ? (
        <p class="held">
          <strong>{held.name}</strong> <small>{held.what}</small>
          <button type="button" class="quiet" onClick={forget} aria-label={`forget ${held.name}`}>forget</button>
        </p>
      ) : (
        <button type="button" class="chooser" onClick={() => chooser.current?.click()}>
          Drop or choose a config.json, launch script, RUN.yaml or log
        </button>
      )}
      {words.calibration && (
        <p class="held">
          <strong>{words.calibration_name || "calibration.yaml"}</strong> <small>a calibration of the cluster</small>
          <button type="button" class="quiet" onClick={() => change({ calibration: "", calibration_name: "" })}
            aria-label={`forget ${words.calibration_name || "calibration.yaml"}`}>forget</button>
        </p>
      )}
      {error && <p class="error" role="alert">{error}</p>}
    </div>
  );
}

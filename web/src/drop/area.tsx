// The whole page takes files.
import { useEffect, useState } from "preact/hooks";
import { take_file } from "./take_file";

export function DropArea() {
  const [over, set_over] = useState(false);
  useEffect(() => {
    const has_file = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent): void => {
      if (!has_file(event)) return;
      event.preventDefault();
      set_over(true);
    };
    const exit = (event: DragEvent): void => {
      if (event.relatedTarget === null) set_over(false);
    };
    const drop = (event: DragEvent): void => {
      if (!has_file(event)) return;
      event.preventDefault();
      set_over(false);
      const file = event.dataTransfer?.files[0];
      if (file) void take_file(file);
    };
    addEventListener("dragover", enter);
    addEventListener("dragleave", exit);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", enter);
      removeEventListener("dragleave", exit);
      removeEventListener("drop", drop);
    };
  }, []);
  return <div class="drop-area" hidden={!over} aria-hidden="true">Drop it: a config.json, a launch script, a RUN.yaml, a log, a table of measured runs, a calibration.yaml</div>;
}

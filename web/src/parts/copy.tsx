// A button that copies a text and says so.
import { useState } from "preact/hooks";

// Where a page is not served from this machine the browser has no clipboard for it; a selected text can be copied still.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton(props: { text: () => string; label: string; what: string }) {
  const [said, say] = useState("");
  const press = (): void => {
    copy(props.text()).then(
      () => say("copied"),
      () => say("not copied"),
    );
    setTimeout(() => say(""), 1500);
  };
  return (
    <button type="button" class="quiet" aria-label={props.what} onClick={press}>
      <span aria-live="polite">{said || props.label}</span>
    </button>
  );
}

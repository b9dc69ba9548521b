// One line that says what became of what somebody did; it is read out, and stays until the next.
import { useEffect, useState } from "preact/hooks";

interface Said {
  text: string;
  wrong: boolean;
}
let listen: (said: Said) => void = () => undefined;
export const say = (text: string, wrong = false): void => listen({ text, wrong });

export function Notice() {
  const [said, set_said] = useState<Said>({ text: "", wrong: false });
  useEffect(() => {
    listen = set_said;
  }, []);
  return (
    <div role="status" class={`notice${said.wrong ? " wrong" : ""}`} hidden={said.text === ""}>
      <span>{said.text}</span>
      <button type="button" class="quiet" aria-label="dismiss" onClick={() => set_said({ text: "", wrong: false })}>×</button>
    </div>
  );
}

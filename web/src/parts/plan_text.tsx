// A plan as text, which goes on in the next line between its keys rather than within one.

export function PlanText({ text }: { text: string }) {
  const keys = text.split(",");
  return <>{keys.map((key, i) => (i + 1 < keys.length ? <>{key},<wbr /></> : key))}</>;
}

// Tables as RFC 4180 writes them.
export type Cell = string | number | boolean | null | undefined;

const cell = (value: Cell): string => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};

export function csv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

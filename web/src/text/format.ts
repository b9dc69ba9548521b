// Numbers as the command line writes them: three significant digits, units that fit.

const digits = (value: number, significant = 3): string => {
  if (value === 0) return "0";
  const places = Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(places, 12));
  return text;
};
// Trailing zeros behind a point say nothing in running text: 9.00 s is 9 s.
const short = (value: number, significant = 3): string => {
  const rounded = Number(value.toPrecision(significant));
  const text = digits(rounded, significant);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.9995e-3) return `${short(value * 1e6)} µs`;
  if (size < 0.9995) return `${short(value * 1e3)} ms`;
  return `${short(value)} s`;
}

// A column of seconds shares its unit, so that its digits stand below one another.
export const plain_seconds = (value: number): string => value.toFixed(3);

export function duration(value: number): string {
  if (value < 3600 * 2) return value < 120 ? seconds(value) : `${short(value / 60)} min`;
  return value < 86400 * 2 ? `${short(value / 3600)} h` : `${short(value / 86400)} days`;
}

// "21.2 to 25.9 days": one unit where both have the same.
export function duration_range(low: number, high: number): string {
  const [from, to] = [duration(low), duration(high)];
  const [number, unit] = from.split(" ");
  return to.endsWith(` ${unit}`) ? `${number} to ${to}` : `${from} to ${to}`;
}

const PREFIXES: readonly [number, string][] = [
  [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"],
];
export function count(value: number, unit = ""): string {
  for (const [size, prefix] of PREFIXES)
    if (Math.abs(value) >= size * 0.9995) return `${short(value / size)} ${prefix}${unit}`;
  return unit === "" ? short(value) : `${short(value)} ${unit}`;
}

export function parameters(value: number): string {
  if (value >= 0.9995e12) return `${short(value / 1e12)} T`;
  if (value >= 0.9995e9) return `${short(value / 1e9)} B`;
  return value >= 1e6 ? `${short(value / 1e6)} M` : whole(value);
}

const GIB = 2 ** 30;
export const gib = (bytes: number): string => `${short(bytes / GIB)} GiB`;
export const plain_gib = (bytes: number): string => (bytes / GIB).toFixed(2);

export const percent = (fraction: number, places = 1): string => `${(fraction * 100).toFixed(places)} %`;
export const signed_percent = (fraction: number): string =>
  `${fraction < 0 ? "−" : "+"}${Math.abs(fraction * 100).toFixed(1)} %`;
// A chance is never said to be certain.
export function chance(fraction: number): string {
  if (fraction > 0.99) return "over 99 %";
  return fraction < 0.01 ? "under 1 %" : `${Math.round(fraction * 100)} %`;
}
export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
export function money(usd: number): string {
  return usd >= 1e6 ? `${short(usd / 1e6)} M USD` : `${whole(usd)} USD`;
}

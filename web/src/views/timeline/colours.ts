// The page's colours as numbers, for who writes pixels: read through an element, since the style sheet says each for
// light and dark.
import { TONES } from "./scene";

export interface Colours {
  readonly tones: Uint32Array;       // ABGR, as ImageData lies in memory
  readonly css: Readonly<Record<string, string>>;
}

const NAMES = ["ink", "quiet", "rule", "paper", "accent", "track", "wrong", "work-2", "on-accent"] as const;

export function colours_of(element: HTMLElement): Colours {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const tones = Uint32Array.from(TONES, (name) => {
    const [r, g, b] = (read(name).match(/[\d.]+/g) ?? ["0", "0", "0"]).map(Number);
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
  const css = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  probe.remove();
  return { tones, css };
}

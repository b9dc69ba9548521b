// A chart by Observable Plot, loaded when the first one is looked at. Its sheet of styles is taken out (the server's
// content security policy forbids inline ones; style/figure.css has the same rules).
import { useEffect, useRef } from "preact/hooks";
import type * as PlotModule from "@observablehq/plot";

export type Plot = typeof PlotModule;
export type Drawing = (plot: Plot, width: number) => SVGElement | HTMLElement;

let loading: Promise<Plot> | null = null;
const load = (): Promise<Plot> => (loading ??= import("@observablehq/plot"));

export interface FigureProps {
  label: string;          // what it shows, for who cannot see it
  draw: Drawing;
  on: unknown;            // drawn again when this changes
  ready?: (drawing: SVGElement | HTMLElement) => void;
}

export function Figure({ label, draw, on, ready }: FigureProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const here = place.current!;
    let stopped = false;
    let width = 0;
    const show = async (): Promise<void> => {
      const plot = await load();
      if (stopped || width === 0) return;
      const drawing = draw(plot, width);
      drawing.querySelectorAll("style").forEach((style) => style.remove());
      // The figure as a whole is named; its parts have no role that a name could be of.
      drawing.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
      here.replaceChildren(drawing);
      ready?.(drawing);
    };
    const watch = new ResizeObserver(([entry]) => {
      const wide = Math.floor(entry.contentRect.width);
      if (wide === width) return;
      width = wide;
      void show();
    });
    watch.observe(here);
    return () => {
      stopped = true;
      watch.disconnect();
    };
  }, [on]);
  return <div class="figure" role="img" aria-label={label} ref={place} />;
}

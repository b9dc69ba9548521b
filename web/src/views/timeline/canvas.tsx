// The drawing and the hands on it: wheel and drag move the window, arrows too; a bar under the pointer, or chosen by keys,
// is told in words.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { colours_of, type Colours } from "./colours";
import { describe } from "./describe";
import { draw_bars } from "./draw_bars";
import { chosen_box, draw_axis, draw_labels, draw_memory, draw_names, type Chosen } from "./draw_marks";
import { layout_of, LEFT, moment_at, TOP } from "./layout";
import { bar_at, type Scene } from "./scene";
import { step_from } from "./step_from";
import { panned, showing, zoomed, type Window } from "./window";

export interface CanvasProps {
  scene: Scene;
  seen: Window;
  limit: number;
  with_path: boolean;
  look: (seen: Window) => void;
}

export function TimelineCanvas({ scene, seen, limit, with_path, look }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useRef<Colours | null>(null);
  const [width, set_width] = useState(0);
  const [themes, set_themes] = useState(0);
  const [hovered, set_hovered] = useState<Chosen | null>(null);
  const [chosen, set_chosen] = useState<Chosen | null>(null);
  const step = scene.timeline.step_ns;
  const layout = layout_of(Math.max(width, LEFT + 100), scene.timeline.shown.length, with_path);
  const told = chosen ?? hovered;
  const stage = told ? scene.timeline.shown[scene.rows[told.row].place] : scene.timeline.shown[0];

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => set_width(Math.floor(entry.contentRect.width)));
    watch.observe(canvas.current!.parentElement!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = (): void => {
      colours.current = null;
      set_themes((n) => n + 1);
    };
    dark.addEventListener("change", again);
    addEventListener("theme", again);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", again);
      removeEventListener("theme", again);
    };
  }, []);
  useEffect(() => {
    set_chosen(null);
    set_hovered(null);
  }, [scene]);

  useLayoutEffect(() => {
    if (width === 0) return;
    const begun = performance.now();
    const scale = Math.max(1, Math.round(devicePixelRatio * 4) / 4);
    const element = canvas.current!;
    const context = element.getContext("2d")!;
    const shown = (colours.current ??= colours_of(element.parentElement!));
    element.width = Math.round(layout.width * scale);
    element.height = Math.round(layout.height * scale);
    draw_bars(context, scene, layout, seen, shown.tones, scale);
    context.scale(scale, scale);
    context.globalCompositeOperation = "destination-over";
    draw_axis(context, layout, seen, shown);
    context.globalCompositeOperation = "source-over";
    draw_names(context, scene, layout, shown);
    draw_labels(context, scene, layout, seen, shown);
    draw_memory(context, scene, layout, seen, stage, limit, shown);
    performance.measure("timeline drawn", { start: begun, end: performance.now() });
  }, [scene, seen, width, themes, with_path, limit, stage]);

  const share_at = (event: { clientX: number }): number => {
    const box = canvas.current!.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left - LEFT) / (box.width - LEFT), 0), 1);
  };
  const found_at = (event: { clientX: number; clientY: number }): Chosen | null => {
    const box = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top - TOP];
    if (x < LEFT || y < 0) return null;
    const place = Math.floor(y / layout.stage_height);
    const inside = y - place * layout.stage_height;
    const row = scene.rows.findIndex(({ kind, place: at }) => {
      const [top, height] = layout.rows[kind];
      return at === place && inside >= top && inside < top + Math.max(height, 1);
    });
    const bar = row < 0 ? -1 : bar_at(scene.rows[row], moment_at(x, layout, seen.from, seen.to));
    return bar < 0 ? null : { row, bar };
  };

  // The listener is set by hand: a wheel that must not scroll the page is no passive one.
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  wheel.current = (event) => {
    const closer = event.ctrlKey || event.metaKey || document.activeElement === canvas.current;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      look(panned(seen, (event.deltaX || event.deltaY) / layout.width, step));
    } else if (closer) {
      event.preventDefault();
      look(zoomed(seen, Math.exp(event.deltaY * 0.002), share_at(event), step));
    }
  };
  useEffect(() => {
    const listener = (event: WheelEvent): void => wheel.current(event);
    const element = canvas.current!;
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, []);

  const drag = useRef<{ x: number; seen: Window } | null>(null);
  const move = (event: { clientX: number; clientY: number }): void => {
    if (!drag.current) {
      set_hovered(found_at(event));
      return;
    }
    const by = (drag.current.x - event.clientX) / (layout.width - LEFT);
    look(panned(drag.current.seen, by, step));
  };
  const press = (event: { key: string; preventDefault(): void; shiftKey: boolean }): void => {
    const moved: Record<string, () => Window> = {
      "+": () => zoomed(seen, 0.6, 0.5, step), "=": () => zoomed(seen, 0.6, 0.5, step), "-": () => zoomed(seen, 1 / 0.6, 0.5, step),
      "0": () => ({ from: 0, to: step }), Home: () => panned(seen, -1e9, step), End: () => panned(seen, 1e9, step),
      PageUp: () => panned(seen, -0.8, step), PageDown: () => panned(seen, 0.8, step),
    };
    if (event.key === "Escape") return set_chosen(null);
    if (event.key in moved) {
      event.preventDefault();
      return look(moved[event.key]());
    }
    const next = step_from(scene, told, event.key, (seen.from + seen.to) / 2);
    if (!next) return undefined;
    event.preventDefault();
    set_chosen(next);
    const row = scene.rows[next.row];
    return look(showing(seen, row.from[next.bar], row.to[next.bar], step));
  };
  // A mark over the drawing: another bar under the hand draws nothing anew.
  const mark = told && told.row < scene.rows.length ? chosen_box(scene.rows[told.row], told.bar, layout, seen) : null;
  return (
    <div class="timeline">
      <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="timeline"
        aria-label="The step in time. Arrows go from bar to bar and from stage to stage, plus and minus zoom, 0 shows all."
        aria-describedby="timeline-told"
        style={{ height: `${layout.height}px` }} onPointerMove={move} onPointerLeave={() => set_hovered(null)}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, seen };
          canvas.current!.setPointerCapture(event.pointerId);
        }}
        onPointerUp={(event) => {
          if (drag.current && Math.abs(event.clientX - drag.current.x) < 3) set_chosen(found_at(event));
          drag.current = null;
        }}
        onDblClick={(event) => look(zoomed(seen, 0.4, share_at(event), step))} onKeyDown={press} />
      {mark && <div class="chosen-bar" aria-hidden="true" style={mark} />}
      <p class="told" id="timeline-told" aria-live={chosen ? "polite" : "off"}>{told ? describe(scene, told) : " "}</p>
    </div>
  );
}

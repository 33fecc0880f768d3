import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef } from 'react';
import { visible } from '../parts/plain-text.tsx';
import { ACROSS, type Layout, type Node } from './layout.ts';
import type { Paint } from './paint.ts';

const RADIUS = 5;
const MARGIN = 24;
const REACH = 10; // pixels from a node at which a click means it
const LABEL_AT = 0.75; // the scale from which actions are written
const LETTER = 6; // pixels, about
const LETTERS = 40;

interface View {
  x: number;
  y: number;
  scale: number;
}

/** Draws a tree on a canvas that is dragged and zoomed: only what is on the screen is drawn, so that 10,000 nodes stay smooth. */
export function Canvas({
  layout,
  paint,
  chosen,
  choose,
}: {
  readonly layout: Layout;
  readonly paint: Paint;
  readonly chosen: Node | undefined;
  readonly choose: (node: Node) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ x: MARGIN, y: MARGIN, scale: 1 });
  const rows = useMemo(() => sortedByRow(layout), [layout]);
  const asked = useRef(0);
  const draw = useCallback(() => {
    cancelAnimationFrame(asked.current);
    asked.current = requestAnimationFrame(() => {
      if (canvas.current) paintTree(canvas.current, view.current, { rows, paint, chosen });
    });
  }, [rows, paint, chosen]);
  const fitted = useRef<string>('');
  useEffect(() => {
    const element = canvas.current;
    const name = `${layout.nodes[0]?.step.id}`;
    if (!element || layout.nodes.length === 0 || fitted.current === name) return;
    fitted.current = name;
    view.current = fit(layout, element);
  }, [layout]);
  useEffect(() => {
    draw();
    const element = canvas.current;
    if (!element) return;
    const resized = new ResizeObserver(draw);
    resized.observe(element);
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && event.deltaMode === 0 && !event.altKey && document.activeElement !== element)
        return;
      event.preventDefault();
      zoomAt(view.current, event.offsetX, event.offsetY, Math.exp(-event.deltaY / 400));
      draw();
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => {
      resized.disconnect();
      element.removeEventListener('wheel', wheel);
    };
  }, [draw]);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const move = (node: Node | undefined) => {
    if (!node || !canvas.current) return;
    show(node, view.current, canvas.current);
    choose(node);
  };
  const zoom = (by: number) => {
    const element = canvas.current;
    if (element) zoomAt(view.current, element.clientWidth / 2, element.clientHeight / 2, by);
    draw();
  };
  const press = (event: KeyboardEvent) => {
    const at = chosen ?? layout.nodes[0];
    if (!at) return;
    const siblings = at.parent?.children ?? [at];
    const place = siblings.indexOf(at);
    if (event.key === 'ArrowRight') move(at.children[0]);
    else if (event.key === 'ArrowLeft') move(at.parent ?? undefined);
    else if (event.key === 'ArrowDown') move(siblings[place + 1]);
    else if (event.key === 'ArrowUp') move(siblings[place - 1]);
    else if (event.key === '+' || event.key === '-') zoom(event.key === '+' ? 1.25 : 0.8);
    else return;
    event.preventDefault();
  };
  return (
    <div
      className="tree-canvas"
      role="application"
      tabIndex={0}
      onKeyDown={press}
      aria-label="The tree: arrow keys walk through it, + and - zoom; the node is described next to it"
    >
      <canvas
        ref={canvas}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY, moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (!drag.current) return;
          const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
          if (!drag.current.moved && Math.hypot(dx, dy) < 3) return;
          view.current.x += dx;
          view.current.y += dy;
          drag.current = { x: event.clientX, y: event.clientY, moved: true };
          draw();
        }}
        onPointerUp={(event) => {
          const clicked = drag.current && !drag.current.moved;
          drag.current = null;
          if (!clicked) return;
          const box = event.currentTarget.getBoundingClientRect();
          const node = nearest(layout, view.current, event.clientX - box.left, event.clientY - box.top);
          if (node) choose(node);
        }}
      />
      <div className="tree-tools">
        <button type="button" onClick={() => zoom(1.4)} aria-label="zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(1 / 1.4)} aria-label="zoom out">
          −
        </button>
        <button
          type="button"
          onClick={() => {
            if (canvas.current) view.current = fit(layout, canvas.current);
            draw();
          }}
        >
          fit
        </button>
      </div>
    </div>
  );
}

function fit(layout: Layout, element: HTMLCanvasElement): View {
  const [width, height] = [element.clientWidth - 2 * MARGIN, element.clientHeight - 2 * MARGIN];
  const scale = Math.min(1.6, Math.max(0.02, Math.min(width / Math.max(1, layout.width), height / Math.max(1, layout.height))));
  return { x: MARGIN, y: MARGIN + Math.max(0, (height - layout.height * scale) / 2), scale };
}

function zoomAt(view: View, x: number, y: number, by: number): void {
  const scale = Math.min(4, Math.max(0.02, view.scale * by));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
}

/** Moves the view so that a node is on the screen. */
function show(node: Node, view: View, element: HTMLCanvasElement): void {
  const [x, y] = [view.x + node.x * view.scale, view.y + node.y * view.scale];
  if (x < MARGIN || x > element.clientWidth - MARGIN) view.x += element.clientWidth / 2 - x;
  if (y < MARGIN || y > element.clientHeight - MARGIN) view.y += element.clientHeight / 2 - y;
}

function sortedByRow({ nodes }: Layout): readonly Node[] {
  return nodes.toSorted((a, b) => a.y - b.y);
}

function nearest({ nodes }: Layout, view: View, x: number, y: number): Node | undefined {
  let [best, distance]: [Node | undefined, number] = [undefined, REACH];
  for (const node of nodes) {
    const apart = Math.hypot(view.x + node.x * view.scale - x, view.y + node.y * view.scale - y);
    if (apart < distance) [best, distance] = [node, apart];
  }
  return best;
}

function paintTree(
  element: HTMLCanvasElement,
  view: View,
  { rows, paint, chosen }: { readonly rows: readonly Node[]; readonly paint: Paint; readonly chosen: Node | undefined },
): void {
  const density = devicePixelRatio || 1;
  const [width, height] = [element.clientWidth, element.clientHeight];
  if (element.width !== width * density || element.height !== height * density) {
    element.width = width * density;
    element.height = height * density;
  }
  const context = element.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(element);
  const [ink, faint, line, link, surface] = ['--ink', '--faint', '--line', '--link', '--surface'].map((name) =>
    style.getPropertyValue(name),
  ) as [string, string, string, string, string];
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.lineJoin = 'round';
  const place = (node: Node) => [view.x + node.x * view.scale, view.y + node.y * view.scale] as const;
  const near = ACROSS * view.scale + MARGIN;
  const onScreen = rows.filter((node) => {
    const [x, y] = place(node);
    const parentY = node.parent ? view.y + node.parent.y * view.scale : y;
    return x > -near && x < width + near && Math.max(y, parentY) > -MARGIN && Math.min(y, parentY) < height + MARGIN;
  });
  for (const node of onScreen) {
    if (!node.parent) continue;
    const [[x0, y0], [x1, y1]] = [place(node.parent), place(node)];
    context.globalAlpha = paint.unseen(node) ? 0.25 : 1;
    context.strokeStyle = paint.onPath(node) ? link : (paint.colour(node) ?? line);
    context.lineWidth = Math.max(0.6, paint.width(node) * Math.min(1, view.scale)) + (paint.onPath(node) ? 1.5 : 0);
    context.beginPath();
    context.moveTo(x0, y0);
    const half = (x0 + x1) / 2;
    context.bezierCurveTo(half, y0, half, y1, x1, y1);
    context.stroke();
  }
  const radius = Math.max(1.2, Math.min(RADIUS, RADIUS * view.scale));
  for (const node of onScreen) {
    const [x, y] = place(node);
    context.globalAlpha = paint.unseen(node) ? 0.35 : 1;
    context.fillStyle = paint.colour(node) ?? faint;
    context.beginPath();
    if (!node.step.ends) context.arc(x, y, radius, 0, 2 * Math.PI);
    else context.rect(x - radius, y - radius, 2 * radius, 2 * radius); // an end
    context.fill();
    if (!node.step.executable && node.parent) strike(context, x, y, radius, ink);
    if (paint.fresh(node)) ring(context, x, y, radius + 2, ink);
    if (node === chosen) ring(context, x, y, radius + 3, link);
    if (view.scale < LABEL_AT) continue;
    context.fillStyle = ink;
    const chain = node.chain.length > 1 ? `(${node.chain.length}) ` : '';
    const room = node.children.length === 0 ? LETTERS : Math.max(4, Math.floor((ACROSS * view.scale - 2 * radius) / LETTER));
    const label = `${chain}${visible(node.step.action)}`.slice(0, room);
    context.strokeStyle = surface;
    context.lineWidth = 3;
    context.strokeText(label, x + radius + 3, y); // lines and other labels end at it
    context.fillText(label, x + radius + 3, y);
  }
  context.globalAlpha = 1;
}

function ring(context: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function strike(context: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x - radius, y + radius);
  context.lineTo(x + radius, y - radius);
  context.stroke();
}

import { useEffect, useRef, useState } from 'react';
import { decimal } from './format.ts';
import { loadScript } from './load.ts';
import { visible } from './plain-text.tsx';
import type { Point } from './point.ts';

const LOOSE = { fillOpacity: 0.5, symbol: 'series' } as const; // many points may lie on one another

/** Draws curves; a point is a link, for the keyboard too. Observable Plot is loaded when the first one is drawn. */
export function Chart({
  points,
  label,
  choose,
  of = 'version',
}: {
  readonly points: readonly Point[];
  readonly label: string;
  readonly choose: (point: Point) => void;
  /** What lies across: points of versions are joined to curves, others stand for themselves. */
  readonly of?: 'version' | 'actions';
}) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [reached, reach] = useState<Point | null>(null);
  const left = useRef<string | null>(null); // the point that had the focus when it was drawn again
  const chosen = useRef(choose);
  chosen.current = choose;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const sized = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    sized.observe(element);
    // Plot holds on to the point that is pressed, and ignores the next; here every click chooses
    const press = (event: Event) => event.stopPropagation();
    element.addEventListener('pointerdown', press, { capture: true });
    return () => {
      sized.disconnect();
      element.removeEventListener('pointerdown', press, { capture: true });
    };
  }, []);
  useEffect(() => {
    let drawn: Element | undefined;
    let ended = false;
    void loadScript(() => import('@observablehq/plot')).then((Plot) => {
      if (ended || width === 0 || !place.current) return;
      drawn = Plot.plot({
        width,
        height: 180,
        marginLeft: 52,
        x: { label: of, tickFormat: 'd', interval: 1, ticks: 6, nice: of !== 'version' },
        y: { label: null, grid: true, nice: true, ticks: 4, tickFormat: decimal },
        color: { scheme: 'Observable10', legend: new Set(points.map(({ series }) => series)).size > 1 },
        marks: [
          ...(of === 'version' ? [Plot.lineY(points, { x: 'x', y: 'y', stroke: 'series', strokeWidth: 1.5 })] : []),
          Plot.dot(points, {
            x: 'x',
            y: 'y',
            fill: 'series',
            r: 3,
            title: 'title',
            className: 'points',
            ...(of === 'version' ? {} : LOOSE),
          }),
          Plot.dot(points, Plot.pointer({ x: 'x', y: 'y', stroke: 'currentColor', r: 6, maxRadius: 30 })),
        ],
        ariaLabel: label,
      });
      drawn.setAttribute('role', 'group'); // one drawing with a name: groups of marks may not have one
      drawn.setAttribute('aria-label', label);
      for (const marks of drawn.querySelectorAll('g[aria-label]')) marks.removeAttribute('aria-label');
      drawn.addEventListener('click', () => {
        const point = (drawn as Element & { readonly value?: Point | null }).value;
        if (point) chosen.current(point);
      });
      place.current.replaceChildren(drawn);
      const choose = (point: Point) => chosen.current(point);
      const focus = walkPoints([...drawn.querySelectorAll('.points > *')], { points, choose, reach });
      if (left.current !== null) focus(left.current);
      left.current = null;
    });
    return () => {
      ended = true;
      if (drawn?.contains(document.activeElement)) left.current = document.activeElement?.getAttribute('aria-label') ?? null;
      drawn?.remove();
    };
  }, [points, width, label, of]);
  return (
    <div className="chart-place">
      <div ref={place} className="chart" />
      {reached ? <span className="chart-reached" aria-hidden>{`${visible(reached.title)}, Enter opens`}</span> : null}
    </div>
  );
}

const BY: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** What a walk through points does. */
interface Walk {
  readonly points: readonly Point[];
  readonly choose: (point: Point) => void;
  /** The point that has the focus, or null when none has. */
  readonly reach: (point: Point | null) => void;
}

/**
 * Makes the drawn marks of points links for the keyboard: the drawing is one stop of Tab, arrows, Home and End
 * go from point to point, from left to right, Enter chooses. @returns what focuses the mark of a point.
 */
function walkPoints(marks: readonly Element[], { points, choose, reach }: Walk): (title: string) => void {
  const stops = marks
    .flatMap((mark) => {
      const point = points[(mark as Element & { readonly __data__?: number }).__data__ ?? -1]; // Plot binds a mark to its place
      return point ? [{ mark: mark as SVGElement, point }] : [];
    })
    .sort((a, b) => a.point.x - b.point.x || a.point.y - b.point.y);
  for (const [at, { mark, point }] of stops.entries()) {
    mark.setAttribute('role', 'link');
    mark.setAttribute('aria-label', point.title);
    mark.addEventListener('focus', () => {
      for (const each of stops) stop(each.mark, each.mark === mark);
      reach(point);
    });
    mark.addEventListener('blur', () => reach(null));
    mark.addEventListener('keydown', (event) => {
      const to = event.key === 'Home' ? 0 : event.key === 'End' ? stops.length - 1 : at + (BY[event.key] ?? 0);
      if (event.key === 'Enter') choose(point);
      else if (to !== at) stops[Math.min(stops.length - 1, Math.max(0, to))]?.mark.focus();
      else return;
      event.preventDefault();
    });
    stop(mark, at === 0);
  }
  return (title) => stops.find(({ point }) => point.title === title)?.mark.focus();
}

function stop(mark: SVGElement, here: boolean): void {
  mark.setAttribute('tabindex', here ? '0' : '-1');
}

import { useEffect, useRef, useState } from 'react';
import { decimal } from './format.ts';
import { loadScript } from './load.ts';
import { visible } from './plain-text.tsx';
import type { Point } from './point.ts';
import { walkPoints } from './walk-points.ts';

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

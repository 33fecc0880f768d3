import type { Point } from './point.ts';

const BY: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** What a walk through points does. */
export interface Walk {
  readonly points: readonly Point[];
  readonly choose: (point: Point) => void;
  /** The point that has the focus, or null when none has. */
  readonly reach: (point: Point | null) => void;
}

/**
 * Makes the drawn marks of points links for the keyboard: the drawing is one stop of Tab, arrows, Home and End
 * go from point to point, from left to right, Enter chooses. @returns what focuses the mark of a point.
 */
export function walkPoints(marks: readonly Element[], { points, choose, reach }: Walk): (title: string) => void {
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

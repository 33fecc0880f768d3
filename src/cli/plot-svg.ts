import { escapeXml, line, round, text } from './svg-parts.ts';

/** A drawing of lines: each series a line of points, with the interval of a point as a bar through it. */
export interface Plot {
  readonly title: string;
  readonly x: { readonly label: string; readonly ticks: readonly number[] };
  readonly y: { readonly label: string; readonly from: number; readonly to: number };
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly PlotPoint[];
}

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  readonly interval: { readonly low: number; readonly high: number } | null;
}

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 180; // room for the names of the series
const TOP = 48;
const BOTTOM = 56;
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9']; // Okabe and Ito: distinct for everyone
const DASHES = ['', '6 3', '2 3', '8 3 2 3', '', '6 3'];
const Y_TICKS = 5;

/** Draws a plot as SVG text that needs nothing else: the same plot, the same bytes. */
export function plotSvg({ title, x, y, series }: Plot): string {
  const low = Math.min(...x.ticks);
  const span = Math.max(...x.ticks) - low || 1; // a single tick is at the left
  const atX = (value: number) => LEFT + ((value - low) / span) * (WIDTH - LEFT - RIGHT);
  const atY = (value: number) => HEIGHT - BOTTOM - ((value - y.from) / (y.to - y.from)) * (HEIGHT - TOP - BOTTOM);
  const yTicks = Array.from({ length: Y_TICKS + 1 }, (_, i) => y.from + ((y.to - y.from) * i) / Y_TICKS);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    `<text x="${LEFT}" y="26" font-size="16">${escapeXml(title)}</text>`,
    ...yTicks.map((tick) => line(LEFT, atY(tick), WIDTH - RIGHT, atY(tick), '#dddddd')),
    ...yTicks.map((tick) => text(LEFT - 8, atY(tick) + 4, round(tick), 'end')),
    ...x.ticks.map((tick) => text(atX(tick), HEIGHT - BOTTOM + 20, round(tick), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x.label, 'middle'),
    `<text transform="translate(18 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escapeXml(y.label)}</text>`,
    ...series.flatMap((one, index) => drawSeries(one, index, (index - (series.length - 1) / 2) * 5, atX, atY)),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

/** @param aside moves a series a little, so that intervals at one place are drawn next to each other. */
function drawSeries(
  { name, points }: Series,
  index: number,
  aside: number,
  atX: (x: number) => number,
  atY: (y: number) => number,
): string[] {
  const colour = COLOURS[index % COLOURS.length] ?? 'black';
  const dash = DASHES[index % DASHES.length] ?? '';
  const placed = points.map((point) => ({ ...point, left: atX(point.x) + aside, top: atY(point.y) }));
  const way = placed.map(({ left, top }) => `${round(left)},${round(top)}`).join(' ');
  const legend = TOP + 10 + index * 22;
  return [
    `<polyline points="${way}" fill="none" stroke="${colour}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}/>`,
    ...placed.flatMap(({ left, interval }) =>
      interval ? [line(left, atY(interval.low), left, atY(interval.high), colour)] : [],
    ),
    ...placed.map(({ left, top }) => `<circle cx="${round(left)}" cy="${round(top)}" r="4" fill="${colour}"/>`),
    line(WIDTH - RIGHT + 14, legend, WIDTH - RIGHT + 40, legend, colour),
    text(WIDTH - RIGHT + 48, legend + 4, name, 'start'),
  ];
}

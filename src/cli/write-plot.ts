import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { largest, smallest } from '../domain/extremes.ts';
import { printError } from './terminal.ts';

/** Reads the file name of `--plot`. @throws Error before anything is run when it is neither an SVG nor a PNG. */
export function plotFile(file: string): string {
  if (['.svg', '.png'].includes(extname(file).toLowerCase())) return file;
  throw new Error(`--plot takes a file that ends in .svg or .png, not ${JSON.stringify(file)}`);
}

/** Writes a drawing: as it is, or as an image where the file is a PNG. */
export async function writePlot(file: string, svg: string): Promise<void> {
  if (extname(file).toLowerCase() !== '.png') return writeFile(file, svg);
  const { svgToPng } = await import('../images/svg-to-png.ts'); // its library takes a while to load, and is rarely wanted
  const { png, words } = await svgToPng(svg);
  await writeFile(file, png);
  if (words === 'missing')
    printError(`${file} has no words: this machine has no fonts; install some (fonts-dejavu-core), or write an .svg`);
}

/** A drawing of lines: each series a line of points, with the interval of a point as a bar through it. */
export interface Plot {
  readonly title: string;
  readonly x: { readonly label: string; readonly ticks: readonly number[] };
  readonly y: { readonly label: string; readonly from: number; readonly to: number };
  readonly series: readonly Series[];
}

interface Series {
  readonly name: string;
  readonly points: readonly PlotPoint[];
}

interface PlotPoint {
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
  const low = smallest(x.ticks);
  const span = largest(x.ticks) - low || 1; // a single tick is at the left
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

/** A drawing of values with their intervals: a line for each row, a column for each panel. */
interface IntervalPlot {
  readonly title: string;
  readonly rows: readonly string[];
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly label: string;
  /** One for each row; null where there is none. */
  readonly values: readonly (IntervalValue | null)[];
  /** What the scale holds whatever the values are: 0 and 1 of a share, 0 of a difference. */
  readonly holds: readonly number[];
  /** Whether values are compared with 0. */
  readonly isDifference: boolean;
}

export interface IntervalValue {
  readonly mean: number;
  readonly interval: { readonly low: number; readonly high: number } | null;
}

const ROW = 30;
const PANEL = 240;
const GAP = 56;
const INTERVAL_TOP = 76;
const INTERVAL_BOTTOM = 44;
const LETTER = 7.2; // pixels of a letter of the names of rows, at most
const COLOUR = '#0072b2';

/** Draws intervals as SVG text that needs nothing else: the same plot, the same bytes. */
export function intervalPlotSvg({ title, rows, panels }: IntervalPlot): string {
  const left =
    24 +
    Math.ceil(
      LETTER *
        largest(
          rows.map((row) => row.length),
          4,
        ),
    );
  const width = Math.max(left + panels.length * (PANEL + GAP), 40 + LETTER * 1.3 * title.length);
  const height = INTERVAL_TOP + rows.length * ROW + INTERVAL_BOTTOM;
  const atRow = (row: number) => INTERVAL_TOP + (row + 0.5) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${height}" font-family="sans-serif" font-size="13">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${round(width)}" height="${height}" fill="white"/>`,
    `<text x="16" y="26" font-size="16">${escapeXml(title)}</text>`,
    ...rows.map((row, i) => text(left - 16, atRow(i) + 4, row, 'end')),
    ...panels.flatMap((panel, i) => drawPanel(panel, left + i * (PANEL + GAP), atRow, rows.length)),
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel({ label, values, holds, isDifference }: Panel, left: number, atRow: (row: number) => number, rows: number) {
  const all = [...holds, ...values.flatMap((value) => (value ? [value.mean, ...Object.values(value.interval ?? {})] : []))];
  const [low, high] = [smallest(all), largest(all)];
  const span = high - low || 1;
  const at = (value: number) => left + ((value - low) / span) * PANEL;
  const [top, bottom] = [INTERVAL_TOP - 6, INTERVAL_TOP + rows * ROW];
  const ticks = [low, low + span / 2, low + span];
  return [
    text(left + PANEL / 2, INTERVAL_TOP - 22, label, 'middle'),
    ...ticks.flatMap((tick) => [
      line(at(tick), top, at(tick), bottom, '#dddddd'),
      text(at(tick), bottom + 18, readable(tick, span), 'middle'),
    ]),
    ...(isDifference ? [line(at(0), top, at(0), bottom, '#555555')] : []),
    ...values.flatMap((value, row) => {
      if (!value) return [];
      const { mean, interval } = value;
      const bar = interval ? [line(at(interval.low), atRow(row), at(interval.high), atRow(row), COLOUR)] : [];
      const said = `${readable(mean, span)}${interval ? ` (${readable(interval.low, span)} to ${readable(interval.high, span)})` : ''}`;
      return [
        ...bar,
        `<circle cx="${round(at(mean))}" cy="${round(atRow(row))}" r="4.5" fill="${COLOUR}"><title>${said}</title></circle>`,
      ];
    }),
  ];
}

/** Returns a number with three digits of its scale. */
function readable(value: number, span: number): string {
  const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(span))));
  return String(Number(value.toFixed(digits)));
}

/** Parts of drawings as SVG text, numbers with two digits: the same drawing, the same bytes. */
export function line(x1: number, y1: number, x2: number, y2: number, stroke: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}" stroke-width="1.5"/>`;
}

export function text(x: number, y: number, words: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escapeXml(words)}</text>`;
}

export function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escapeXml(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

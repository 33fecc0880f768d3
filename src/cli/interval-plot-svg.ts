import { largest } from '../domain/extremes.ts';
import { escapeXml, line, round, text } from './svg-parts.ts';

/** A drawing of values with their intervals: a line for each row, a column for each panel. */
export interface IntervalPlot {
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
const TOP = 76;
const BOTTOM = 44;
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
  const height = TOP + rows.length * ROW + BOTTOM;
  const atRow = (row: number) => TOP + (row + 0.5) * ROW;
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
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const span = high - low || 1;
  const at = (value: number) => left + ((value - low) / span) * PANEL;
  const [top, bottom] = [TOP - 6, TOP + rows * ROW];
  const ticks = [low, low + span / 2, low + span];
  return [
    text(left + PANEL / 2, TOP - 22, label, 'middle'),
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

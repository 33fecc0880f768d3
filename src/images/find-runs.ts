import { ESCAPE_CELL } from './prepare-text.ts';
import type { Ink, RenderSpec } from './render-spec.ts';

/** Cells of a line that are drawn at once, from `start`, in one ink. */
export interface InkRun {
  readonly start: number;
  readonly text: string;
  readonly ink: Ink;
}

interface Found {
  readonly start: number;
  readonly end: number;
  readonly ink: Ink;
}

/**
 * Splits a line of cells into runs: highlighted literals, escapes and the text between them (specification §1.5). Occurrences of
 * a literal may overlap; of overlapping ones the earliest start wins, then the order of the spec. A literal broken over two lines
 * is not found.
 */
export function findRuns(line: string, inks: RenderSpec['inks']): InkRun[] {
  const found = kept(line, inks);
  if (found.length === 0) return line === '' ? [] : [{ start: 0, text: line, ink: inks.text }];
  const runs: InkRun[] = [];
  let at = 0;
  for (const { start, end, ink } of found) {
    if (start > at) runs.push({ start: at, text: line.slice(at, start), ink: inks.text });
    runs.push({ start, text: line.slice(start, end), ink });
    at = end;
  }
  if (at < line.length) runs.push({ start: at, text: line.slice(at), ink: inks.text });
  return runs;
}

function kept(line: string, inks: RenderSpec['inks']): Found[] {
  const all: Found[] = [];
  for (const { literal, ink } of inks.highlights) {
    for (let at = line.indexOf(literal); at >= 0; at = line.indexOf(literal, at + 1)) {
      all.push({ start: at, end: at + literal.length, ink });
    }
  }
  for (const { index, 0: text } of line.matchAll(ESCAPES)) all.push({ start: index, end: index + text.length, ink: inks.escape });
  if (all.length < 2) return all;
  let end = 0;
  return all
    .sort((a, b) => a.start - b.start)
    .filter((each) => {
      if (each.start < end) return false;
      end = each.end;
      return true;
    });
}

const ESCAPES = new RegExp(`[${String.fromCharCode(ESCAPE_CELL)}-${String.fromCharCode(ESCAPE_CELL + 0x7f)}]+`, 'g');

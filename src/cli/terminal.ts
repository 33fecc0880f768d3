import type { Command } from 'commander';
import { largest } from '../domain/extremes.ts';
import { escapeControls, escapeMessage } from '../runtime/escape-controls.ts';

/**
 * How commands speak: results to stdout, progress and errors to stderr, so that a pipe gets results alone. Texts of others, such
 * as run names and replies of models, are in any of them: whatever a terminal would act on is written as an escape, and a text is
 * one line, so that no name can forge another.
 */

let printed = false;

/** Lines of output: a text is one line, a list its lines in order. */
export type Lines = string | readonly Lines[];

/** Writes a line of result, or several. */
export function print(lines: Lines = ''): void {
  printed = true;
  process.stdout.write(
    linesOf(lines)
      .map((line) => `${escapeControls(line)}\n`)
      .join(''),
  );
}

/**
 * Writes a line to stderr, or several: errors, and what is no result. A message of several lines, as another program wrote it,
 * goes on indented: none of its lines reads as one of ours.
 */
export function printError(lines: Lines): void {
  process.stderr.write(
    linesOf(lines)
      .map((line) => `${escapeMessage(line)}\n`)
      .join(''),
  );
}

/** Writes why a command failed; its stack where `--debug` asks for it, a flag of the whole program. */
export function printFailure(error: unknown, command: Command): void {
  printError(`espalier: ${error instanceof Error ? error.message : String(error)}`);
  if (command.optsWithGlobals<{ debug?: boolean }>().debug && error instanceof Error) printError(`${error.stack}`);
}

/** Writes lines with two spaces in front. */
export function indented(lines: Lines): Lines {
  return linesOf(lines).map((line) => `  ${line}`);
}

function linesOf(lines: Lines): readonly string[] {
  return typeof lines === 'string' ? [lines] : lines.flatMap(linesOf);
}

/** Returns whether a line of result was written. */
export function hasPrinted(): boolean {
  return printed;
}

export interface ProgressLine {
  /** Shows the state; on a terminal the line is rewritten, elsewhere a line is printed at most every two seconds. */
  show(text: string): void;
  /** Ends the line. */
  end(text?: string): void;
}

/** Opens a line of progress on stderr. */
export function progressLine(now: () => number = Date.now): ProgressLine {
  const terminal = process.stderr.isTTY === true;
  let shown = 0;
  return {
    show(text) {
      const every = terminal ? 50 : 2_000;
      if (now() - shown < every) return;
      shown = now();
      const line = escapeControls(text);
      process.stderr.write(terminal ? `\r\x1b[K${line}` : `${line}\n`);
    },
    end(text) {
      if (terminal && shown > 0) process.stderr.write('\r\x1b[K');
      if (text !== undefined) printError(text);
    },
  };
}

/** Lays rows out in columns: texts to the left, numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const cells = [header, ...rows].map((row) => row.map((cell) => escapeControls(String(cell))));
  const widths = header.map((_, i) => largest(cells.map((row) => row[i]?.length ?? 0)));
  const right = header.map(
    (_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === 'number' || /^[\d.,%–-]+$/.test(String(row[i]))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (right[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(cells[0] ?? []), widths.map((w) => '─'.repeat(w)).join('  '), ...cells.slice(1).map(line)];
}

/** Draws a share as a bar of eighths, `width` cells wide. */
export function bar(share: number, width = 12): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * width * 8);
  const partial = ' ▏▎▍▌▋▊▉'[eighths % 8] ?? '';
  return ('█'.repeat(eighths >> 3) + (eighths % 8 > 0 ? partial : '')).padEnd(width, '·');
}

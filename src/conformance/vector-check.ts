import { isDeepStrictEqual } from 'node:util';
import { cutText } from '../domain/text/cut-text.ts';

/** A case of a vector file, judged. `detail` holds the reason of a failure or a skip, and is empty otherwise. */
export interface JudgedCase {
  readonly case: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  readonly detail: string;
}

/**
 * Judges one kind of vector file, chosen by its name. A file that does not have the expected shape may throw: the runner makes
 * that one failed case.
 */
export interface VectorCheck {
  readonly fileName: RegExp;
  judge(file: VectorFile): AsyncIterable<JudgedCase> | Iterable<JudgedCase>;
}

export interface VectorFile {
  readonly name: string;
  readonly json: unknown;
  /** Reads another file of the same folder. @throws Error that names it when it is missing or no JSON. */
  readSibling(name: string): Promise<unknown>;
}

/** Passes a case when both values are deeply equal; key order does not matter, array order does. */
export function judgeEqual(name: string, actual: unknown, expected: unknown): JudgedCase {
  if (isDeepStrictEqual(actual, expected)) return passed(name);
  return failed(name, `expected ${abridge(expected)}, got ${abridge(actual)}`);
}

/** Passes a case when both numbers differ by at most 1e-12: logarithms and roots may differ in the last bit between languages. */
export function judgeClose(name: string, actual: number, expected: number): JudgedCase {
  return Math.abs(actual - expected) <= 1e-12 ? passed(name) : failed(name, `expected ${expected}, got ${actual}`);
}

export function passed(name: string): JudgedCase {
  return { case: name, status: 'passed', detail: '' };
}

export function failed(name: string, detail: string): JudgedCase {
  return { case: name, status: 'failed', detail };
}

export function skipped(name: string, detail: string): JudgedCase {
  return { case: name, status: 'skipped', detail };
}

function abridge(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 300 ? text : `${cutText(text, 300)}…`;
}

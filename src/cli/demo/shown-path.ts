import { relative } from 'node:path';

/** Shows a path from here when it lies below. */
export function shownPath(path: string): string {
  const from = relative('', path);
  return from.startsWith('..') ? path : from;
}

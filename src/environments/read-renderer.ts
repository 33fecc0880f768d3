import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { RENDERER_LIMIT } from '../events/schemas/runs.ts';
import { EnvironmentError } from './environment.ts';

/** Reads the module that renders steps, from a path relative to a folder. @throws EnvironmentError that names the file. */
export async function readRenderer(path: string, folder: string): Promise<string> {
  const file = resolve(folder, path);
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new EnvironmentError('unknown-task', `renderer ${path}: cannot read ${file} (${cause.code})`, { cause });
  });
  return checkedRenderer(text, `renderer ${path}`);
}

/** Returns the text of a module that renders steps. @throws EnvironmentError for one that no studio would run. */
export function checkedRenderer(text: string, what: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > RENDERER_LIMIT)
    throw new EnvironmentError(
      'unknown-task',
      `${what} has ${bytes} bytes, more than ${RENDERER_LIMIT}; leave out what it does not need, or minify it`,
    );
  if (!/\bexport\b[^;]*\brender\b/.test(text))
    throw new EnvironmentError(
      'unknown-task',
      `${what} exports no function render; write \`export function render(given, h) { … }\``,
    );
  return text;
}

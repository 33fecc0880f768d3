import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('./schema/', import.meta.url));

/** Reads the schema: the files of `schema/`, in name order, as one document. */
export async function readTypeDefs(): Promise<string> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.graphql')).sort();
  return (await Promise.all(files.map((file) => readFile(`${FOLDER}/${file}`, 'utf8')))).join('\n');
}

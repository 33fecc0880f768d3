import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { type Experiment, ExperimentRefused } from './experiment.ts';
import { experimentOf } from './parse-experiment.ts';

const LARGEST = 10_000_000; // characters: a file of that size is no declaration

/** Reads a declaration: YAML, of which JSON is a part. @throws ExperimentRefused that names the file, or the field. */
export async function readExperimentFile(path: string): Promise<Experiment> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ExperimentRefused(path, `cannot be read (${error.code})`, 'name an existing file');
  });
  if (text.length > LARGEST) throw new ExperimentRefused(path, `has ${text.length} characters`, 'name a declaration');
  let declared: unknown;
  try {
    const document = parseDocument(text, { merge: true });
    const [error] = document.errors;
    if (error) throw error;
    declared = document.toJS({ maxAliasCount: 1_000 });
  } catch (error) {
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ExperimentRefused(path, message.replace(/:$/, ''), 'correct it; JSON is YAML too');
  }
  return experimentOf(declared);
}

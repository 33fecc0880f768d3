import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { isModule, loadExport } from '../../../environments/tools/load-export.ts';
import { ToolError } from '../../../environments/tools/tool.ts';
import { type Experiment, ExperimentRefused } from './experiment.ts';
import { parseExperiment } from './parse-experiment.ts';

const LARGEST = 10_000_000; // characters: a file of that size is no declaration

/**
 * Reads a declaration: YAML or JSON, or a module of TypeScript or JavaScript that exports `experiment` (`./mine.ts#name` for
 * another export). @throws ExperimentRefused that names the file, or the field.
 */
export async function readExperimentFile(path: string): Promise<Experiment> {
  return experimentOf(await readDeclared(path));
}

/** Checks a declaration. @throws ExperimentRefused that names the field. */
export function experimentOf(declared: unknown): Experiment {
  const parsed = parseExperiment(declared);
  if (parsed.kind === 'refused') throw new ExperimentRefused(parsed);
  return parsed.experiment;
}

async function readDeclared(path: string): Promise<unknown> {
  if (/\.[cm]?[jt]s(#|$)/.test(path)) {
    const { value } = await loadExport(isModule(path) ? path : `./${path}`, 'experiment', 'experiment').catch(
      (cause: unknown) => {
        if (!(cause instanceof ToolError)) throw cause;
        throw new ExperimentRefused({ field: path, message: cause.message, remedy: 'correct the module' });
      },
    );
    return JSON.parse(JSON.stringify(value)); // what is no JSON could not be recorded
  }
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ExperimentRefused({ field: path, message: `cannot be read (${error.code})`, remedy: 'name a file that is there' });
  });
  if (text.length > LARGEST)
    throw new ExperimentRefused({ field: path, message: `has ${text.length} characters`, remedy: 'name a declaration' });
  const document = parseDocument(text, { prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error)
    throw new ExperimentRefused({
      field: path,
      message: (error.message.split('\n')[0] ?? 'is not YAML').replace(/:$/, ''),
      remedy: 'correct that place; JSON is YAML too',
    });
  return document.toJS({ maxAliasCount: 1_000 });
}

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
        const message = cause.message.replace(/^experiment \S+: /, '');
        throw new ExperimentRefused({ field: path, message, remedy: 'correct the module' });
      },
    );
    return recordable(path, value);
  }
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ExperimentRefused({ field: path, message: `cannot be read (${error.code})`, remedy: 'name a file that is there' });
  });
  if (text.length > LARGEST)
    throw new ExperimentRefused({ field: path, message: `has ${text.length} characters`, remedy: 'name a declaration' });
  const document = parseDocument(text, { prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS')
    throw new ExperimentRefused({ field: path, message: 'holds two documents', remedy: 'write each into a file of its own' });
  if (error)
    throw new ExperimentRefused({
      field: path,
      message: (error.message.split('\n')[0] ?? 'is not YAML').replace(/:$/, ''),
      remedy: 'correct that place; JSON is YAML too',
    });
  try {
    return document.toJS({ maxAliasCount: 1_000 });
  } catch (cause) {
    const message = `cannot be read (${cause instanceof Error ? cause.message : String(cause)})`;
    throw new ExperimentRefused({ field: path, message, remedy: 'write out what the anchors and aliases stand for' });
  }
}

/** What a module exports, as it is recorded: what is no JSON could not be. @throws ExperimentRefused. */
function recordable(path: string, value: unknown): unknown {
  const remedy = 'export the declaration itself: an object of texts, numbers, lists and objects';
  if (typeof value !== 'object' || value === null) {
    const found = typeof value === 'function' ? 'a function' : JSON.stringify(value);
    throw new ExperimentRefused({ field: path, message: `exports ${found ?? 'nothing'} as experiment`, remedy });
  }
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (cause) {
    const [message = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
    throw new ExperimentRefused({ field: path, message: `exports what is no JSON (${message})`, remedy });
  }
}

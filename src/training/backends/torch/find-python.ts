import { execFile } from 'node:child_process';
import { openCache } from '../../../runtime/cache.ts';

export type FoundPython =
  | { readonly kind: 'found'; readonly python: string; readonly torch: string }
  | { readonly kind: 'none'; readonly reason: string };

// importing torch takes seconds, and a training asks in several places; one that has none is asked again, since it may get it
const known = openCache<FoundPython>({ max: 16 });

/** Looks whether an interpreter has torch: the one that is named, else `python3` of the path. */
export async function findPython(named: string | null): Promise<FoundPython> {
  const python = named ?? 'python3';
  const before = known.get(python);
  if (before) return before;
  const found = await askPython(python);
  if (found.kind === 'found') known.set(python, found);
  return found;
}

async function askPython(python: string): Promise<FoundPython> {
  const said = await new Promise<{ readonly torch: string | null; readonly why: string }>((resolve) => {
    execFile(python, ['-c', 'import torch; print(torch.__version__)'], { timeout: 180_000 }, (error, stdout, stderr) => {
      const last = stderr.trim().split('\n').at(-1) ?? '';
      resolve(error ? { torch: null, why: last === '' ? error.message : last } : { torch: stdout.trim(), why: '' });
    });
  });
  if (said.torch !== null) return { kind: 'found', python, torch: said.torch };
  return { kind: 'none', reason: `${python} has no torch (${said.why}); name one that has it: ESPALIER_PYTHON=/path/to/python` };
}

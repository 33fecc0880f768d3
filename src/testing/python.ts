import { execFile } from 'node:child_process';
import { readConfig } from '../runtime/config.ts';
import { type FoundPython, findPython } from '../training/backends/torch/find-python.ts';
import { inCI } from './in-ci.ts';

/**
 * Finds the Python with torch that tests run (`ESPALIER_PYTHON`, else `python3`). Where there is none, tests of the torch backend
 * are skipped with the reason, but never in CI or when ESPALIER_REQUIRE_TORCH is 1: a skipped backend would pass for a tested
 * one.
 * @throws Error with the remedy when torch is required and missing.
 */
export async function pythonForTests(): Promise<FoundPython> {
  const found = await findPython(readConfig().python);
  if (found.kind === 'none' && torchIsRequired())
    throw new Error(`${found.reason}; install python/requirements.txt into a virtual environment and name its interpreter`);
  return found;
}

export type FoundConsumers =
  | { readonly kind: 'found'; readonly python: string; readonly versions: string }
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Finds the Python with verl and TRL that tests of their adapters run (`ESPALIER_CONSUMERS_PYTHON`, else that of the torch
 * backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export async function consumersForTests(): Promise<FoundConsumers> {
  const python = readConfig().consumersPython ?? 'python3';
  // by their metadata: to import them takes ten seconds
  const script = "from importlib.metadata import version as v; print(f\"verl {v('verl')}, TRL {v('trl')}, torch {v('torch')}\")";
  const found = await new Promise<FoundConsumers>((resolve) => {
    execFile(python, ['-c', script], { timeout: 60_000 }, (error, stdout, stderr) => {
      const why = stderr.trim().split('\n').at(-1) || error?.message;
      resolve(
        error
          ? { kind: 'none', reason: `${python} has not all of verl, TRL and torch (${why})` }
          : { kind: 'found', python, versions: stdout.trim() },
      );
    });
  });
  if (found.kind === 'none' && torchIsRequired())
    throw new Error(`${found.reason}; python/requirements-consumers.txt says how to install them`);
  return found;
}

function torchIsRequired(): boolean {
  return inCI() || process.env.ESPALIER_REQUIRE_TORCH === '1';
}

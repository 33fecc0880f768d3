import { execFile } from 'node:child_process';
import { readConfig } from '../runtime/config.ts';
import { type FoundPython, findPython } from '../training/backends/torch/python-process.ts';
import { inCI } from './in-ci.ts';

/**
 * Finds the Python with torch that tests run (`ESPALIER_PYTHON`, else `python3`). Where there is none, tests of the torch backend
 * are skipped with the reason, but never in CI or when ESPALIER_REQUIRE_TORCH is 1: a skipped backend would pass for a tested
 * one.
 * @throws Error with the remedy when torch is required and missing.
 */
export async function pythonForTests(): Promise<FoundPython> {
  const python = await findPython(readConfig().python);
  if (python.kind === 'none' && torchIsRequired())
    throw new Error(`${python.reason}; install python/requirements.txt into a virtual environment and name its interpreter`);
  return python;
}

export type FoundPackages =
  | { readonly kind: 'found'; readonly python: string; readonly versions: string }
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Finds the Python with verl, TRL and faiss that tests of adapters and of the dense retriever run (`ESPALIER_CONSUMERS_PYTHON`,
 * else that of the torch backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function consumersForTests(): Promise<FoundPackages> {
  return packagesForTests(
    readConfig().consumersPython,
    ['verl', 'trl', 'faiss-cpu', 'torch'],
    'python/requirements-consumers.txt',
  );
}

/**
 * Finds the Python with pandas and polars that tests of analysis run (`ESPALIER_CONSUMERS_PYTHON`, else that of the torch
 * backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function analysisForTests(): Promise<FoundPackages> {
  const packages = ['pyarrow', 'pandas', 'polars', 'httpx'];
  return packagesForTests(readConfig().consumersPython, packages, 'python/requirements-consumers.txt');
}

/**
 * Finds the Python that records by the client of `python/`: that of the torch backend, which has httpx. Skipped where there is
 * none, and required where torch is. @throws Error with the remedy.
 */
export function recordersForTests(): Promise<FoundPackages> {
  return packagesForTests(readConfig().python, ['httpx'], 'python/requirements.txt');
}

/**
 * Finds the Python with nbconvert and what notebooks use (`ESPALIER_CONSUMERS_PYTHON`, else that of the torch backend). Skipped
 * where there is none, and required where torch is. @throws Error with the remedy.
 */
export function notebooksForTests(): Promise<FoundPackages> {
  const packages = ['nbconvert', 'ipykernel', 'pyarrow', 'pandas', 'polars', 'torch', 'httpx'];
  return packagesForTests(readConfig().consumersPython, packages, 'python/requirements-consumers.txt');
}

/**
 * Finds the Python with mypy that the types of the package are checked by (`ESPALIER_CONSUMERS_PYTHON`, else that of the torch
 * backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function mypyForTests(): Promise<FoundPackages> {
  return packagesForTests(readConfig().consumersPython, ['mypy', 'httpx', 'pyarrow'], 'python/requirements-consumers.txt');
}

/**
 * Finds the Python with the packages of published environments (`ESPALIER_WORLDS_PYTHON`, else that of the torch backend).
 * Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function worldsForTests(): Promise<FoundPackages> {
  const packages = ['scienceworld', 'gymnasium', 'alfworld', 'textworld', 'fast-downward-textworld'];
  const requirements = 'python/requirements-worlds.txt and python/requirements-alfworld.txt';
  return packagesForTests(readConfig().worldsPython, packages, requirements);
}

/**
 * Finds the Python with the packages whose environments have adapters (`ESPALIER_ADAPTERS_PYTHON`, else that of the torch
 * backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function adaptersForTests(): Promise<FoundPackages> {
  return packagesForTests(readConfig().adaptersPython, ['gymnasium', 'verifiers'], 'python/requirements-adapters.txt');
}

/**
 * Finds the Python with the agents that are captured without a change to them (`ESPALIER_AGENTS_PYTHON`, else that of the torch
 * backend). Skipped where there is none, and required where torch is. @throws Error with the remedy.
 */
export function agentsForTests(): Promise<FoundPackages> {
  const packages = ['anthropic', 'httpx', 'langchain-openai', 'langgraph', 'litellm', 'openai', 'openai-agents'];
  return packagesForTests(
    process.env.ESPALIER_AGENTS_PYTHON ?? readConfig().python,
    packages,
    'examples/requirements-capture.txt',
  );
}

/**
 * Finds the Python with the clients that sinks post by (`ESPALIER_SINKS_PYTHON`, else that of the torch backend). Skipped where
 * there is none, and required where torch is. @throws Error with the remedy.
 */
export function sinksForTests(): Promise<FoundPackages> {
  return packagesForTests(
    readConfig().sinksPython,
    ['tensorboard', 'mlflow', 'wandb', 'trackio', 'httpx'],
    'python/requirements-sinks.txt',
  );
}

/**
 * Finds Pythons with Pillow of both generations: 13 in that of the torch backend, 12 in `ESPALIER_SINKS_PYTHON`. Skipped where
 * there is none, and required where torch is. @throws Error with the remedy.
 */
export function pillowsForTests(): Promise<readonly FoundPackages[]> {
  const { python, sinksPython } = readConfig();
  const of = (interpreter: string | null, file: string) => packagesForTests(interpreter, ['pillow', 'numpy'], `python/${file}`);
  return Promise.all([of(python, 'requirements.txt'), of(sinksPython, 'requirements-sinks.txt')]);
}

async function packagesForTests(
  python: string | null,
  packages: readonly string[],
  requirements: string,
): Promise<FoundPackages> {
  const interpreter = python ?? 'python3';
  // by their metadata: to import them takes ten seconds
  const script = `from importlib.metadata import version as v; print(', '.join(f"{n} {v(n)}" for n in '${packages.join(' ')}'.split()))`;
  const found = await new Promise<FoundPackages>((resolve) => {
    execFile(interpreter, ['-c', script], { timeout: 60_000 }, (error, stdout, stderr) => {
      const why = stderr.trim().split('\n').at(-1) || error?.message;
      resolve(
        error
          ? { kind: 'none', reason: `${interpreter} has not all of ${packages.join(', ')} (${why})` }
          : { kind: 'found', python: interpreter, versions: stdout.trim() },
      );
    });
  });
  if (found.kind === 'none' && torchIsRequired()) throw new Error(`${found.reason}; ${requirements} says how to install them`);
  return found;
}

function torchIsRequired(): boolean {
  return inCI() || process.env.ESPALIER_REQUIRE_TORCH === '1';
}

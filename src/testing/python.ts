import { readConfig } from '../runtime/config.ts';
import { type FoundPython, findPython } from '../training/backends/torch/find-python.ts';

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

function torchIsRequired(): boolean {
  const { CI, ESPALIER_REQUIRE_TORCH } = process.env;
  return (CI !== undefined && CI !== '' && CI !== 'false') || ESPALIER_REQUIRE_TORCH === '1';
}

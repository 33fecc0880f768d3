import { runConformance } from './run-conformance.ts';

export interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Runs the vector files below a folder and writes a line for each case that failed or was skipped, a line for each file that
 * passed, and last `N passed, N failed, N skipped`. @param write receives one line at a time, without its newline. @throws Error
 * when the folder cannot be read.
 */
export async function conformanceMain(folder: string, write: (line: string) => void): Promise<ConformanceCounts> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const perFile = new Map<string, number>();
  const finish = (): void => {
    for (const [file, passed] of perFile) if (passed > 0) write(`passed   ${file}: ${passed}`);
    perFile.clear();
  };
  for await (const { file, case: name, status, detail } of runConformance(folder)) {
    if (!perFile.has(file)) {
      finish();
      perFile.set(file, 0);
    }
    counts[status]++;
    if (status === 'passed') perFile.set(file, (perFile.get(file) ?? 0) + 1);
    else write(`${status.padEnd(8)} ${file}${name === file.split('/').at(-1) ? '' : ` · ${name}`}: ${detail}`);
  }
  finish();
  write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts;
}

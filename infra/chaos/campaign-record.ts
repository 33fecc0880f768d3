import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { CampaignOptions, Trained } from './campaign.ts';

/**
 * Opens the file in which a campaign keeps its trainings, a line of JSON each behind one that says what was asked for. A half
 * line of a process that was killed is left out. @param path none keeps nothing.
 * @throws Error when the file is of a campaign with other options.
 */
export function openRecord(path: string | undefined, asked: string): Pick<CampaignOptions, 'kept' | 'keep'> {
  if (path === undefined) return { kept: [], keep: async () => undefined };
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const [first, ...lines] = whole.split('\n').filter((line) => line !== '');
  if (first !== undefined && first !== asked)
    throw new Error(`--record: ${path} is of a campaign with other options; repeat those (${first}), or name another file`);
  if (first === undefined) appendFileSync(path, `${asked}\n`);
  else if (whole !== text) appendFileSync(path, '\n'); // behind the half line, which is no JSON
  return {
    kept: lines.flatMap(trainedOf),
    keep: async (trained) => appendFileSync(path, `${JSON.stringify(trained)}\n`),
  };
}

function trainedOf(line: string): readonly Trained[] {
  try {
    return [JSON.parse(line) as Trained]; // as `keep` wrote it
  } catch {
    return []; // the half line of a process that was killed
  }
}

import { z } from 'zod';
import { openSha256 } from '../../../digest/sha256.ts';
import { badRow, readRows } from '../import/read-rows.ts';

/** What counts as right in tasks, by their aliases. */
export interface Truths {
  /** `goals`: there is no file, and what a task asks for stands for it. */
  readonly kind: 'goals' | 'file';
  /** The one type that a column has. */
  readonly type: 'text' | 'list';
  /** SHA-256 of the file; null without one. */
  readonly sha256: string | null;
  of(alias: string): string | readonly string[] | undefined;
}

export const goalsAsTruths: Truths = { kind: 'goals', type: 'text', sha256: null, of: () => undefined };

const row = z.object({
  id: z.union([z.string(), z.number().transform(String)]),
  ground_truth: z.union([z.string(), z.array(z.string()), z.looseObject({ target: z.array(z.string()) })]),
});

/**
 * Reads a file of tasks as `espalier prepare` writes them: `id` and `ground_truth`, a text or a list of texts; where any is a
 * list, all are. @throws DatasetError `cannot-read`, `bad-row` with the line.
 */
export async function readTruths(path: string): Promise<Truths> {
  const hash = openSha256();
  const found = new Map<string, string | readonly string[]>();
  for await (const { line, value } of readRows(path, hash)) {
    const parsed = row.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw badRow(path, line, `${issue?.path.map(String).join('.') || 'the row'}: ${issue?.message}`);
    }
    const { id, ground_truth: truth } = parsed.data;
    found.set(id, typeof truth === 'string' || Array.isArray(truth) ? truth : truth.target);
  }
  const type = [...found.values()].every((truth) => typeof truth === 'string') ? 'text' : 'list';
  const asType = (truth: string | readonly string[]) => (type === 'list' && typeof truth === 'string' ? [truth] : truth);
  return {
    kind: 'file',
    type,
    sha256: hash.digest('hex'),
    of(alias) {
      const truth = found.get(alias);
      return truth === undefined ? undefined : asType(truth);
    },
  };
}

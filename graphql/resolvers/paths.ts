import type { OfTree } from '../../src/projections/of-tree.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { bounded } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { wholePath } from '../loaders/path-loader.ts';

const WHOLE_LIMIT = 10_000; // steps of a path that is asked for whole
const PART_LIMIT = 10_000; // steps of one part

export interface PathArguments {
  readonly first?: number | null | undefined;
  readonly after?: number | null | undefined;
}

/**
 * Reads the path from the root to a step, whole or a part of it. @throws PATH_TOO_LARGE; LIMIT_EXCEEDED with the other paths of
 * the request.
 */
export async function readPath(
  leaf: OfTree,
  { first, after }: PathArguments,
  { loaders }: Pick<Context, 'loaders'>,
): Promise<readonly StepRecord[]> {
  const limit = typeof first === 'number' ? bounded('first', first, PART_LIMIT) : null;
  if (typeof after === 'number' && after < -1)
    throw refusal('BAD_USER_INPUT', `after must be the depth of a step, 0 or more, not ${after}`, { argument: 'after' });
  const part = { ...wholePath(leaf), after: after ?? -1 };
  if (limit !== null) return loaders.path.load({ ...part, limit });
  const depth = (await loaders.step.load(leaf))?.depth ?? 0;
  if (depth - part.after <= WHOLE_LIMIT) return loaders.path.load(part);
  throw refusal(
    'PATH_TOO_LARGE',
    `the path to step ${leaf.id} has ${depth - part.after} steps and ${WHOLE_LIMIT} come at once; read it in parts: first: ${PART_LIMIT}, after: <depth of the last step received>`,
  );
}

import { z } from 'zod';
import { bestChild, bestPositions } from '../../domain/search/best-child.ts';
import { EXPLORATION } from '../../domain/search/uct.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const child = z.object({ value: z.number(), visits: z.number(), terminal: z.boolean() });
const shape = z.object({
  cases: z.array(
    z.object({
      parentVisits: z.number(),
      children: z.array(child),
      candidatePool: z.array(z.number()).nullable(),
      returnsNull: z.boolean(),
      parentTerminalAfter: z.boolean(),
    }),
  ),
});

/** Judges `02_best_child`: which children a choice is drawn from, and that none is left where the parent becomes terminal. */
export const bestChildCheck: VectorCheck = {
  fileName: /^02_best_child.*\.json$/,
  *judge({ json }) {
    for (const [i, { parentVisits, children: given, candidatePool, ...expected }] of shape.parse(json).cases.entries()) {
      const children = given.map(({ value, ...rest }) => ({ ...rest, valueSum: value }));
      const parent = { stepId: 'parent', visits: parentVisits, valueSum: 0 };
      const tieBreak = { kind: 'drawn', draw: () => 0 } as const; // as the spy that made the file
      const chosen = bestChild(parent, children, { exploration: EXPLORATION, tieBreak, simulation: 0 });
      yield judgeEqual(
        `case ${i + 1}`,
        {
          pool: bestPositions(parentVisits, children, EXPLORATION, 0),
          chosen,
          returnsNull: chosen === null,
          parentTerminalAfter: chosen === null,
        },
        { pool: candidatePool ?? [], chosen: candidatePool?.[0] ?? null, ...expected },
      );
    }
  },
};

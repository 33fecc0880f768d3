import { z } from 'zod';
import { uctScore } from '../../domain/search/uct.ts';
import { judgeClose, type VectorCheck } from '../vector-check.ts';

const shape = z.object({
  coef: z.number(),
  cases: z.array(z.object({ value: z.number(), visits: z.number(), parentVisits: z.number().nullish(), uct: z.number() })),
});

/** Judges `01_uct`: the score of a node. A root has no parent: its `parentVisits` is null or left out. */
export const uctCheck: VectorCheck = {
  fileName: /^01_uct.*\.json$/,
  *judge({ json }) {
    const { coef, cases } = shape.parse(json);
    for (const { value, visits, parentVisits, uct } of cases) {
      yield judgeClose(
        `${value}/${visits} below ${parentVisits ?? 'no parent'}`,
        uctScore({ visits, valueSum: value }, parentVisits ?? null, coef),
        uct,
      );
    }
  },
};

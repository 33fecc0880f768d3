import { z } from 'zod';
import { parseVerdictAsPublished } from '../../domain/revision/verdict.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const shape = z.object({ cases: z.array(z.object({ response: z.string(), judgement: z.string(), continues: z.boolean() })) });

/** Judges `07_verdict_parse`: how the published program reads a judge, misreadings included. */
export const verdictCheck: VectorCheck = {
  fileName: /^07_verdict_parse.*\.json$/,
  *judge({ json }) {
    for (const { response, ...expected } of shape.parse(json).cases) {
      const { judgement, verdict } = parseVerdictAsPublished(response);
      yield judgeEqual(JSON.stringify(response), { judgement, continues: verdict !== 'bad' }, expected);
    }
  },
};

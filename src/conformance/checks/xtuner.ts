import { z } from 'zod';
import { toXtuner } from '../../domain/revision/xtuner.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const message = z
  .object({ role: z.enum(['system', 'user', 'assistant']), content: z.string(), loss: z.boolean().optional() })
  .transform(({ role, content, loss }) => ({ role, content, ...(loss === undefined ? {} : { loss }) }));
const shape = z.object({ input: z.array(message), output: z.array(z.unknown()) });

/** Judges `11_xtuner_rewrite`: the published conversion, which drops the masks. */
export const xtunerCheck: VectorCheck = {
  fileName: /^11_xtuner_rewrite.*\.json$/,
  *judge({ json }) {
    const { input, output } = shape.parse(json);
    yield judgeEqual('rewrite', [toXtuner(input, 'drop')], output);
  },
};

import { z } from 'zod';
import { parseReact } from '../../environments/parse-react.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const shape = z.object({ cases: z.array(z.object({ input: z.string(), thought: z.string(), action: z.string() })) });

/** Judges `16_parse_react`: responses split into thought and action as AgentGym's clients do. */
export const parseReactCheck: VectorCheck = {
  fileName: /^16_parse_react.*\.json$/,
  *judge({ json }) {
    for (const { input, thought, action } of shape.parse(json).cases) {
      yield judgeEqual(JSON.stringify(input), parseReact(input), { thought, action });
    }
  },
};

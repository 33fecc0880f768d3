import { z } from 'zod';
import { type ClientRevision, clientAction } from '../../environments/agentgym/client-action.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const shape = z.object({
  cases: z.array(
    z.object({
      client: z.enum(['textcraft', 'babyai']),
      revision: z.string(),
      input: z.string(),
      posted: z.array(z.string()),
      stateIfNotPosted: z.string().nullable(),
    }),
  ),
});

/** Judges `15_client_action_normalisation`: what each published AgentGym client posts for a text, or answers itself. */
export const clientActionCheck: VectorCheck = {
  fileName: /^15_client_action_normalisation.*\.json$/,
  *judge({ json }) {
    for (const { client, revision, input, posted, stateIfNotPosted } of shape.parse(json).cases) {
      const did = clientAction(client, revisionOf(revision), input);
      yield judgeEqual(
        `${client} ${revisionOf(revision)} ${JSON.stringify(input)}`,
        did.kind === 'post' ? { posted: [did.action], answer: null } : { posted: [], answer: did.observation },
        { posted, answer: stateIfNotPosted },
      );
    }
  },
};

function revisionOf(text: string): ClientRevision {
  if (text.startsWith('2025-03')) return '2025-03';
  if (text.startsWith('HEAD')) return '2025-09';
  throw new Error(`no client of revision ${JSON.stringify(text)} is known`);
}

import { z } from 'zod';
import { amount, name } from '../../events/schemas/values.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply } from '../reply.ts';
import type { JsonBodies } from './call-endpoint.ts';
import { replyTo } from './proxy-replies.ts';
import { type PlaceParams, placeHeaders, placeOf, placeParams } from './proxy-request.ts';

const observation = z.string().max(10_000_000);

export const rewardBody = z.strictObject({
  value: amount.describe('Value that the reward adds to the return.'),
  component: name.default('environment').describe('Component of the reward.'),
  scorer: z
    .strictObject({ name: name.describe('Name of the scorer.'), revision: name.default('1').describe('Its revision.') })
    .default({ name: 'program', revision: '1' })
    .describe('Who assigned it.'),
  of: z.enum(['rollout', 'step']).default('rollout').describe('Whether it judges the rollout, or the last step of its path.'),
  observation: observation
    .optional()
    .describe('What followed on the last reply, which then is a step at once; for a reward of that step before the next call.'),
});

export const endBody = z.strictObject({
  outcome: z
    .enum(['terminated', 'truncated', 'failed', 'cancelled'])
    .default('terminated')
    .describe('How the rollout ended: by itself, by a limit, by a fault, or by cancellation.'),
  success: z.boolean().nullable().default(null).describe('Whether the task was done; null where nobody says.'),
  reason: z.string().max(10_000).default('').describe('Details of the end.'),
  observation: observation.default('').describe('What followed on the last reply.'),
  reward: amount.optional().describe('Reward of the rollout as a whole, component `environment`, given with its end.'),
});

const recorded = z.object({
  appended: z.boolean().describe('False where the record held it already.'),
  position: z.string().describe('Next offsets behind it, as `trees.2:41`; empty where nothing was appended.'),
  unclearCalls: z
    .int()
    .optional()
    .describe('Of an end: how many calls next to the path may belong to it, so that exports refuse the rollout.'),
  lostParts: z
    .int()
    .optional()
    .describe('Of an end: how many parts of its calls could not be read, so that exports refuse the rollout.'),
});

/** What the endpoints answer by which a program says something of what is captured. */
export const SAID = {
  200: { description: 'It is on record.', content: { 'application/json': recorded } },
  ...refusals({
    400: 'The request names no rollout, or a field does not fit.',
    403: 'The run belongs to another key or project.',
    404: 'No call opened what is named.',
    409: 'Another value, or another end, is on record; or the last reply is no step yet.',
    413: 'The body is over its limit.',
    415: 'Another Content-Type or Content-Encoding.',
    422: 'A reader of JSON would lose a part of the body.',
    503: 'The record cannot be appended to, or is too far behind to say what it holds: send it again.',
  }),
};

/** Makes the endpoints by which a program says what a rollout was worth and that it is over, each by address and by headers. */
export function judgeEndpoints(capture: Capture, bodies: JsonBodies): readonly Endpoint[] {
  const scorer = { name: 'program', revision: '1' };
  return [
    ...both(
      'reward',
      'Assigns a reward to a captured rollout, or to its last step; a repetition changes nothing.',
      rewardBody,
      async (named, principal, given) => ({
        position: await capture.reward(named, principal, {
          ...given,
          step: given.of === 'step' ? { observation: given.observation ?? null } : null,
        }),
      }),
    ),
    ...both('end', 'Ends a captured rollout; a repetition changes nothing.', endBody, async (named, principal, given) => {
      const value = given.reward;
      const before =
        value === undefined
          ? ''
          : await capture.reward(named, principal, { value, component: 'environment', scorer, step: null });
      const { position, ...counted } = await capture.end(named, principal, given);
      return { position: position || before, ...counted };
    }),
  ];

  function both<B>(
    what: 'reward' | 'end',
    summary: string,
    schema: z.ZodType<B>,
    record: (named: Parameters<Capture['end']>[0], principal: Parameters<Capture['end']>[1], given: B) => Promise<OnRecord>,
  ): readonly Endpoint[] {
    const shared = { method: 'POST', needs: ['ingest'], summary, body: bodies(schema), answers: SAID } as const;
    return [
      endpoint<PlaceParams, unknown, B>({
        ...shared,
        path: `/v1/proxy/{run}/{task}/{rollout}/${what}`,
        params: placeParams,
        handle: ({ req, params, body, principal }) =>
          answering(async () => record(placeOf(params, req.headers), principal, body)),
      }),
      endpoint<unknown, unknown, B>({
        ...shared,
        path: `/v1/proxy/${what}`,
        headers: placeHeaders,
        handle: ({ req, body, principal }) => answering(async () => record(placeOf({}, req.headers), principal, body)),
      }),
    ];
  }
}

interface OnRecord {
  readonly position: string;
  readonly unclearCalls?: number;
  readonly lostParts?: number;
}

/** Answers with the position behind what was recorded. */
export async function answering(record: () => Promise<OnRecord>): Promise<Reply> {
  try {
    const { position, ...more } = await record();
    return json(200, { appended: position !== '', position, ...more });
  } catch (error) {
    return replyTo(error);
  }
}

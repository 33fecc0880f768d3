import { z } from 'zod';
import type { Principal } from '../../postgres/principal.ts';
import type { CloseResult } from '../../usecases/capture/close-captured.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { JsonBodies } from './call-endpoint.ts';
import { answering, SAID } from './judge-endpoints.ts';
import { placeParams, runHeaders } from './proxy-request.ts';

export const closeBody = z.strictObject({
  outcome: z.enum(['completed', 'failed', 'cancelled']).default('completed').describe('How it ended.'),
  message: z.string().max(10_000).default('').describe('Reason for the outcome.'),
  rollouts: z
    .enum(['terminated', 'truncated', 'failed', 'cancelled'])
    .default('terminated')
    .describe('How its rollouts without an end ended.'),
});
type Given = z.infer<typeof closeBody>;

const runParams = placeParams.pick({ run: true });
const taskParams = placeParams.pick({ run: true, task: true });

/** Makes the endpoints by which a program says that a task has its rollouts, or that a run is over. */
export function closeEndpoints(capture: Capture, bodies: JsonBodies): readonly Endpoint[] {
  const close = (place: () => CloseResult, principal: Principal, given: Given) =>
    answering(async () => ({ position: await capture.close(place(), principal, given) }));
  const shared = { method: 'POST', needs: ['ingest'], body: bodies(closeBody), answers: SAID } as const;
  const ofRun =
    'Closes a captured run: rollouts without an end get one, trees are closed, the run is finished; a repetition changes nothing.';
  const ofTask = 'Closes the tree of a captured task, which then is a group to train on; a repetition changes nothing.';
  return [
    endpoint<z.infer<typeof runParams>, unknown, Given>({
      ...shared,
      summary: ofRun,
      path: '/v1/proxy/{run}/close',
      params: runParams,
      handle: ({ params: { run }, body: given, principal }) => close(() => ({ run, task: null }), principal, given),
    }),
    endpoint<z.infer<typeof taskParams>, unknown, Given>({
      ...shared,
      summary: ofTask,
      path: '/v1/proxy/{run}/{task}/close',
      params: taskParams,
      handle: ({ params: { run, task }, body: given, principal }) => close(() => ({ run, task }), principal, given),
    }),
    endpoint<unknown, unknown, Given>({
      ...shared,
      summary: 'Closes a captured run, or one task of it.',
      path: '/v1/proxy/close',
      headers: runHeaders,
      handle: ({ req: { headers }, body: given, principal }) =>
        close(
          () => ({ run: String(headers['x-espalier-run']), task: headers['x-espalier-task']?.toString() ?? null }),
          principal,
          given,
        ),
    }),
  ];
}

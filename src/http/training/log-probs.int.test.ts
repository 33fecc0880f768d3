import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { serveApi } from '../../app/serve-api.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { pack } from '../../events/packed.ts';
import { readBodiesOfType } from '../../projections/journal/read-bodies.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { SILENT } from '../../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../runtime/python-server.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { LOCAL, LOCAL_TOKEN } from '../../testing/local-token.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { readSafetensors } from '../../training/rows/safetensors.ts';
import type { HttpServer } from '../server.ts';

const run = promisify(execFile);
const MEMBERS = 2;
const STEPS = 2;
const TOKENS = 3;
/** What the new weights say of the sampled tokens, which differ from one another. */
const VALUES = Array.from({ length: MEMBERS * STEPS * TOKENS }, (_, place) => -0.25 * (place + 1));

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: HttpServer;
beforeAll(async () => {
  server = await serveApi(platform, SILENT);
});
afterAll(() => server.close());

async function settled(): Promise<void> {
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
}

/** A policy with a planned batch of two samples, each of two steps whose observations have tokens too. */
async function given(policyId: string): Promise<readonly string[]> {
  const builder = new EventBuilder(policyId);
  const shape = { policyId, members: MEMBERS, steps: STEPS, tokens: TOKENS, observationTokens: 2 };
  const { rollouts } = recordBatches(builder, shape);
  await appendRecorded(platform.log, builder.events);
  await settled();
  await post('/policies', { policyId, backend: 'test', weights: sha256Hex(policyId) });
  await settled();
  return rollouts[0] ?? [];
}

async function post(path: string, body: object) {
  const response = await fetch(`${server.url}/v1/training${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

async function leased(policyId: string) {
  const { body } = await post('/leases', { policyId, consumer: 'trainer', ttlMs: 60_000 });
  const made = { version: 1, checkpointId: newId(), backend: 'test', weights: sha256Hex(`${policyId} 1`) };
  return { path: `/leases/${body.leaseId}/ack`, ack: { fence: body.fence, ...made } };
}

/** The log-probs of each step of two rollouts, as GraphQL answers them. */
async function answered([first, second]: readonly string[]): Promise<readonly unknown[]> {
  await settled();
  const fields = '{ sample { estimate { steps { newLogProbs } } } }';
  const query = `query ($first: ID!, $second: ID!) { first: rollout(id: $first) ${fields} second: rollout(id: $second) ${fields} }`;
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify({ query, variables: { first, second } }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  const rollouts: readonly { sample: { estimate: { steps: readonly { newLogProbs: unknown }[] } } }[] = [data.first, data.second];
  return rollouts.flatMap(({ sample }) => sample.estimate.steps.map(({ newLogProbs }) => newLogProbs));
}

const ofSteps = Array.from({ length: MEMBERS * STEPS }, (_, i) => VALUES.slice(i * TOKENS, (i + 1) * TOKENS));

async function updatesOf(policyId: string) {
  const bodies = await readBodiesOfType(platform.database.db, 'PolicyUpdated');
  const events = bodies.map((body) => JSON.parse(body));
  return events.filter(({ data }) => data.policyId === policyId && data.version === 1);
}

describe('log-probs that come with an acknowledgement', () => {
  test('log-probs by the new weights are kept as one blob that the update names, and an acknowledgement that is sent again doubles nothing', async () => {
    const rollouts = await given('acked');
    const { path, ack } = await leased('acked');
    expect(await answered(rollouts)).toEqual(ofSteps.map(() => null)); // there is no update yet
    const sent = { ...ack, logProbs: pack('float32', VALUES) };
    const first = await post(path, sent);
    expect(first).toMatchObject({ status: 200, body: { kind: 'acked', version: 1 } });
    expect(await post(path, sent)).toEqual(first);
    expect(await post(path, ack)).toEqual(first); // whoever lost the answer may leave them out
    expect(await answered(rollouts)).toEqual(ofSteps);
    const [update, ...more] = await updatesOf('acked');
    expect(more).toEqual([]);
    const { blob, mediaType } = update.data.logProbs;
    const bytes = await platform.blobs.get(blob);
    expect([sha256Hex(bytes), mediaType]).toEqual([blob, 'application/x-safetensors']);
    const { tensors } = readSafetensors(bytes);
    expect([...(tensors.get('log_probs')?.data ?? [])]).toEqual(VALUES);
    expect([...(tensors.get('cu_seqlens')?.data ?? [])]).toEqual([0, STEPS * TOKENS, 2 * STEPS * TOKENS]);
  });

  test('an update without log-probs has the bytes that it had before there were any', async () => {
    const rollouts = await given('without');
    const { path, ack } = await leased('without');
    expect((await post(path, ack)).status).toBe(200);
    expect(await answered(rollouts)).toEqual(ofSteps.map(() => null));
    const [update] = await updatesOf('without');
    expect(Object.keys(update.data)).not.toContain('logProbs');
  });

  test.each<[string, object, RegExp, number?]>([
    [
      'one value too few',
      pack('float32', VALUES.slice(1)),
      /logProbs has 11 values, and the 2 samples .* have 12 sampled tokens send one/,
    ],
    [
      'a value that is no number',
      pack('float32', [Number.NaN, ...VALUES.slice(1)]),
      /logProbs has NaN at place 0: .* leave logProbs out/,
    ],
    ['a probability', pack('float32', [0.5, ...VALUES.slice(1)]), /logProbs has 0.5 at place 0/],
    ['bytes of another length', { ...pack('float32', VALUES), length: 11 }, /logProbs\.bytes are not the base64 of/],
    ['values of another type', pack('int32', [1]), /logProbs\.dtype/, 400],
  ])(
    'log-probs with %s are refused with the field and the remedy, and the lease holds on',
    async (what, logProbs, said, status = 422) => {
      const rollouts = await given(what);
      const { path, ack } = await leased(what);
      const refused = await post(path, { ...ack, logProbs });
      const { message, remedy, problems = [] } = refused.body.error;
      expect(refused.status).toBe(status);
      expect(`${message} ${remedy} ${JSON.stringify(problems)}`).toMatch(said);
      expect(await post(path, { ...ack, logProbs: pack('float32', VALUES) })).toMatchObject({ status: 200 });
      expect(await answered(rollouts)).toEqual(ofSteps);
    },
  );

  test.each(['verl', 'padded', 'step'])(
    'a trainer in Python sends log-probs as its rows of the layout %s are shaped',
    async (layout) => {
      const rollouts = await given(layout);
      const { stdout } = await run('python3', ['-c', TRAINER, server.url, layout, JSON.stringify(VALUES)], {
        env: { ...process.env, PYTHONPATH: PYTHON_PACKAGE, ESPALIER_TOKEN: LOCAL_TOKEN },
      });
      expect(JSON.parse(stdout)).toEqual({
        refused: [
          'logprobs',
          expect.stringMatching(/^logprobs have the shape \[1\], and response_mask has \[/),
          expect.stringMatching(/^pass one/),
        ],
        version: 1,
      });
      expect(await answered(rollouts)).toEqual(ofSteps);
    },
  );
});

/** Lays the values out over the response mask, 7 where nothing was sampled, and acknowledges twice. */
const TRAINER = `
import json, sys
from espalier_rl.errors import EspalierError
from espalier_rl.leases import Client
from espalier_rl.training.batch import Batch
from espalier_rl.training.processes import Alone
url, layout, values = sys.argv[1], sys.argv[2], iter(json.loads(sys.argv[3]))
lease = Client(url).lease(layout, layout=layout)
batch = Batch(lease, lease.rows, Alone(), lambda said: None)
flat = [next(values) if sampled else 7.0 for sampled in lease.rows["response_mask"]]
shape = lease.rows.shape("response_mask")
shaped = flat if len(shape) == 1 else [flat[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
try:
    batch.ack(weights="b" * 64, logprobs=[0.0])
except EspalierError as error:
    refused = [error.field, error.message, error.remedy]
said = batch.ack(weights="b" * 64, metrics={"loss": 0.5}, logprobs=shaped)
assert batch.ack(weights="b" * 64, metrics={"loss": 0.5}, logprobs=shaped) == said
print(json.dumps({"refused": refused, "version": said["version"]}))
`;

import { expect, test } from '@jest/globals';
import { catalogue, TOPICS } from '../../events/catalogue.ts';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { recordRevision } from '../../testing/record-revision.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { verifyRecord } from './verify-record.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });

test('verify names the revisions that do not hold, whatever one fact or one tree is, and does not end at them', async () => {
  const record = (name: string, tampered: boolean) => {
    const builder = new EventBuilder(`verified revisions ${name}`);
    return recordRevision('verified', builder, name, tampered);
  };
  const [whole, tampered, lacking] = [record('whole', false), record('tampered', true), record('lacking', false)];
  const composed = whole.builder.events.find(({ type }) => type === 'RevisionComposed') as Envelope<'RevisionComposed'>;
  const { goodLeafStepId: transitionStepId } = composed.data; // not on the bad path
  const off = { ...composed.data, revisionId: whole.builder.id('off'), transitionStepId };
  whole.builder.record('RevisionComposed', off, composed.correlationId);
  const lost = 'e'.repeat(64);
  const response = { blob: lost, size: 70_000, mediaType: 'text/plain' };
  const events = [
    ...lacking.builder.events.map((event) =>
      event.type === 'StepTaken' ? { ...event, data: { ...event.data, response } } : event,
    ),
    ...whole.builder.events,
    ...tampered.builder.events,
  ] as readonly Envelope[];
  const { log, database } = platform;
  await log.append(events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })));
  const runner = await runProjections({ log, database });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 15_000 });
  await runner.close();
  const verification = await verifyRecord(platform, { files: [], signal: new AbortController().signal });
  expect(verification.faults.map((fault) => JSON.stringify(fault)).join()).toContain(lost);
  const { treeId } = tampered.builder.events.flatMap(({ data }) => ('revisionId' in data ? [data] : []))[0] ?? {};
  expect(verification.doubtfulRevisions).toEqual([
    { revisionId: tampered.revisionId, treeId, state: 'verified', why: 'altered' },
  ]);
});

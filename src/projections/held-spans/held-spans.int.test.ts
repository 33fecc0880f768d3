import { expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { appendTo, projectSlice, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { heldSpans } from './held-spans.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** Spans of a rollout before and after its calls and its end, and of another rollout. */
function recorded() {
  const builder = new EventBuilder('spans');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const rolloutId = builder.rollout(tree, 0);
  const captured = everyEvent().flatMap(({ type, data }) => (type === 'CallCaptured' ? [data as DataOf<'CallCaptured'>] : []))[0];
  if (!captured) throw new Error('there is a call among every event');
  const span = (name: string, of = rolloutId, endsRollout = false) =>
    builder.record(
      'SpanReceived',
      {
        spanId: builder.id(name),
        treeId: tree.treeId,
        rolloutId: of,
        run: 'run',
        task: 'task',
        rollout: '0',
        kind: 'model',
        endsRollout,
        startMs: 1_700_000_000_000,
        span: '{"name":"chat"}',
      },
      runId,
    );
  const call = (name: string) =>
    builder.record('CallCaptured', { ...captured, callId: builder.id(name), treeId: tree.treeId, rolloutId }, runId);
  span('placed by its call');
  call('placed by its call');
  call('after its call');
  span('after its call');
  span('of another rollout', builder.id('other'));
  span('with which it ends', rolloutId, true);
  call('with which it ends');
  span('placed by its call'); // once more
  builder.finishRollout(tree, rolloutId, tree.rootStepId, { steps: 0 });
  span('after its end');
  const named = ['placed by its call', 'after its call', 'of another rollout', 'with which it ends', 'after its end'];
  return { events: builder.events, nameOf: (id: string) => named.find((name) => builder.id(name) === id) ?? id };
}

test('what comes before a span places nothing of it, however the log is cut into batches', async () => {
  const { events, nameOf } = recorded();
  const log = testLog();
  appendTo(log, events);
  const { length } = log.topics.get('trees') ?? [];
  for (let cut = 1; cut <= (length ?? 0); cut++) {
    await emptyReadModels(database.db);
    for (let from = 0; from < (length ?? 0); from += cut)
      await projectSlice(database.db, log, 'trees', from, Math.min(length ?? 0, from + cut), [heldSpans]);
    const rows = await database.db.selectFrom('heldSpans').select(['spanId', 'placed']).execute();
    expect(Object.fromEntries(rows.map(({ spanId, placed }) => [nameOf(spanId), placed]))).toEqual({
      'placed by its call': true,
      'after its call': true, // by the end of its rollout
      'of another rollout': false,
      'with which it ends': true,
      'after its end': false,
    });
  }
});

import { expect, test } from '@jest/globals';
import type { Draft } from '../append/appender.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { projectsOf } from './projects-of.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('a tree of a run that goes on from another belongs to the project of that one before the new run is projected', async () => {
  const builder = new EventBuilder('onward');
  const origin = builder.id('origin');
  await database.db
    .insertInto('owners')
    .values({ stream: origin, topic: 'runs', principal: 'local', project: 'team-b' })
    .execute();
  builder.tree(builder.run(), 'a');
  const [started, opened] = builder.events as unknown as Draft[];
  if (started?.type !== 'RunStarted' || opened?.type !== 'TreeOpened') throw new Error('the builder records a run and its tree');
  const forked = { ...started, data: { ...started.data, config: { fork: { runId: origin } } } };

  const projectOf = projectsOf(database.db);
  expect(await projectOf(opened)).toBeNull(); // nothing is known of the run yet
  expect(await projectOf(forked)).toBe('team-b');
  expect(await projectOf(opened)).toBe('team-b');
});

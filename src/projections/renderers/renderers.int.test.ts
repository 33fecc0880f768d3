import { expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import { RENDERER_LIMIT, renderer as schema } from '../../events/schemas/runs.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readRun } from '../runs/read-runs.ts';
import { readRenderers } from './read-renderers.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('a run keeps the renderer of each of its environments, the first under one name, and lists of runs do not hold them', async () => {
  const builder = new EventBuilder('renderers');
  const source = 'export const render = () => "a";';
  const environments = [
    { environment: 'gauge', fingerprint: 'f', renderer: source },
    { environment: 'gauge', fingerprint: 'g', renderer: 'export const render = () => "b";' },
    { environment: 'plain', fingerprint: 'f' },
  ];
  const runId = builder.run('with', { environments });
  const without = builder.run('without');
  await givenEvents(database.db, builder.events);
  expect(await readRenderers(database.db, [runId, without])).toEqual([
    { runId, environment: 'gauge', sha256: sha256Hex(source), source },
  ]);
  expect((await readRun(database.db, runId))?.environments).toEqual(
    environments.map(({ environment, fingerprint }) => ({ environment, fingerprint })),
  );
});

test('a renderer has at most 64 KiB as UTF-8', () => {
  expect(schema.safeParse('x'.repeat(RENDERER_LIMIT)).success).toBe(true);
  expect(schema.safeParse('ä'.repeat(RENDERER_LIMIT / 2 + 1)).success).toBe(false);
  expect(schema.safeParse('').success).toBe(false);
});

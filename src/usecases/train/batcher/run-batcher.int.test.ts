import { afterEach, expect, test } from '@jest/globals';
import { openDatabase } from '../../../postgres/database.ts';
import { createLogger } from '../../../runtime/logger.ts';
import { startCuttableProxy } from '../../../testing/cuttable-proxy.ts';
import { until } from '../../../testing/until.ts';
import { useTestPlatform } from '../../../testing/use-test-platform.ts';
import { batch } from './run-batcher.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test('a planner whose database is away says so, and of no lineage', async () => {
  const proxy = await startCuttableProxy(platform.databaseUrl);
  closing.push(() => proxy.close());
  const database = await openDatabase(proxy.url);
  closing.push(() => database.close());
  proxy.cut();
  const lines: string[] = [];
  const logger = createLogger({ form: 'json', write: (line) => lines.push(line) });
  const batcher = await batch({ ...platform, database }, logger);
  closing.push(() => batcher.close());
  await until(() => lines.length > 0);
  const [line] = lines.map((each) => JSON.parse(each));
  expect(line).toMatchObject({ message: 'planning waits for the log or the database', error: expect.any(String) });
  expect(line).not.toHaveProperty('policyId');
});

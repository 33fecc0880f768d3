import { describe, expect, test } from '@jest/globals';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { formatPosition } from '../../log/position.ts';
import { openTestApi } from '../http-testing.ts';
import { DrawnBuilder } from './ingest-testing.ts';
import { describeSecondFacts } from './second-facts.contract.ts';

describe('second facts over the embedded log', () => {
  describeSecondFacts(openTestApi);
});

test('what the log was told first is a repetition also for a server that took another word before it could see that', async () => {
  const api = await openTestApi();
  try {
    const builder = new DrawnBuilder();
    builder.run();
    const [first] = builder.events as [Envelope<'RunStarted'>];
    await api.log.append([{ topic: 'runs', key: first.stream, value: encode(first) }]);
    const other = { ...first, id: newId(), data: { ...first.data, name: 'other' } };
    expect(await api.post([other])).toMatchObject({ status: 200, body: { appended: 1 } }); // nothing is folded
    await api.project();
    await api.projected(formatPosition(await api.log.ends(['runs'])));
    expect(await api.post([{ ...first, id: newId() }])).toMatchObject({ status: 200, body: { appended: 0, duplicates: 1 } });
  } finally {
    await api.close();
  }
});

import { expect, jest, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { givenEvents } from '../testing/given-events.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../testing/record-images.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { warnUnshaped } from './with-resume-hint.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test.each([
  [0, ''],
  [2, 'show 4 characters that the published renderer may draw otherwise'],
])(
  'a run whose images hold %i characters each that may be drawn otherwise is noted by what is on record',
  async (unshaped, said) => {
    const builder = new EventBuilder('unshaped');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const { steps } = builder.walk(tree, 0, 2, 1);
    const renderSpecId = recordRenderSpec(builder, runId);
    const segments = [recordSegment(builder, runId, renderSpecId, 'record')];
    for (const stepId of steps) recordHistory(builder, tree, { stepId, renderSpecId, segments, unshaped });
    await givenEvents(database.db, builder.events);
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await warnUnshaped({ database } as unknown as Platform, runId); // it reads the database alone
    const text = written.mock.calls.map(([line]) => String(line)).join('');
    if (said === '') expect(text).toBe('');
    else expect(text).toContain(`note: the images of run ${runId} ${said}`);
  },
);

import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeAppending } from './contract/appending.ts';
import { describeClosing } from './contract/closing.ts';
import { describeDelivering } from './contract/delivering.ts';
import type { EventLogFixture } from './contract/fixture.ts';
import { describeFreezing } from './contract/freezing.ts';
import { describeRestoring } from './contract/restoring.ts';
import { describeSharing } from './contract/sharing.ts';

/**
 * Describes what every event log promises, against a real server. Each adapter's test file calls it once.
 * @param open starts or finds the server; called once, before the first case.
 * @param options.codecs the codecs in which the server may keep records, each to be shown readable.
 * @param options.gaps whether a restored partition may leave offsets empty.
 * @param options.freezes whether the fixture starts members in other processes, which are then stopped.
 */
export function describeEventLog(
  name: string,
  open: () => Promise<EventLogFixture>,
  options: { readonly codecs?: readonly string[]; readonly freezes?: boolean; readonly gaps: 'kept' | 'refused' },
): void {
  describe(`the event log: ${name}`, () => {
    let opened: EventLogFixture | undefined;
    const fixture = (): EventLogFixture => {
      if (opened === undefined) throw new Error('the fixture is open only while tests run');
      return opened;
    };
    beforeAll(async () => {
      opened = await open();
    }); // the first start of a server may fetch it
    afterAll(async () => {
      await opened?.cleanup();
    });

    describeAppending(fixture, options.codecs ?? []);
    describeDelivering(fixture);
    describeSharing(fixture);
    describeRestoring(fixture, options.gaps);
    if (options.freezes) describeFreezing(fixture);
    describeClosing(fixture);
  });
}

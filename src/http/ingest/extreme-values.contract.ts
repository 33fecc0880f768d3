import { expect, test } from '@jest/globals';
import { catalogue, type EventType, TOPICS } from '../../events/catalogue.ts';
import { encode } from '../../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../../events/envelope.ts';
import { freeFormFields } from '../../events/free-form.ts';
import { formatPosition } from '../../log/position.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { inWorld, payloadsOf, variationsOf } from '../../testing/vary-events.ts';
import type { TestApi } from '../http-testing.ts';
import { checkEvents } from './check-events.ts';

/** What others refer to: every world has it. */
const CONTEXT: ReadonlySet<EventType> = new Set<EventType>([
  ...(['RunStarted', 'TreeOpened', 'RolloutStarted', 'StepTaken', 'RewardAssigned', 'RevisionComposed'] as const),
  ...(['RenderSpecRegistered', 'DatasetReleased', 'TrainingDeclared', 'AnnotationAdded'] as const),
]);

/** Describes what becomes of values that fit a schema and nothing else, over a log. @param open opens a server over a log of its own. */
export function describeExtremeValues(open: () => Promise<TestApi>): void {
  const every = everyEvent().map((event) => ({ event, variations: variationsOf(event) }));

  test('every free-form field of every type is given other values', () => {
    const given = new Set(
      every.flatMap(({ event: { type }, variations }) =>
        variations.map(({ path }) => `${type} ${path.map((key) => (typeof key === 'number' ? '*' : key)).join('.')}`),
      ),
    );
    const types = Object.keys(catalogue) as EventType[];
    const freeForm = types.flatMap((type) => [...freeFormFields(type)].map((path) => `${type} ${path}`));
    expect(freeForm.filter((path) => !given.has(path))).toEqual([]);
  });

  test('a value of any event that is null, empty, negative, long or as large as can be stops no projection, whether it is sent or lies in the log', async () => {
    const api = await open();
    try {
      await api.project();
      const worlds = Math.max(...every.map(({ variations }) => variations.length));
      const all: Envelope[] = [];
      for (let at = 0; at < worlds; at++) {
        const world = `extreme ${at}`;
        for (const payload of payloadsOf(world)) await api.blobs.put(payload, 'text/plain');
        for (const { event, variations } of every) {
          const varied = variations[at]?.event ?? (CONTEXT.has(event.type) ? event : undefined);
          if (varied) all.push(inWorld(varied, world));
        }
      }
      for (const events of inRequests(all)) {
        const sent = events.filter((event) => checkEvents([event], Date.now(), DEFAULT_STAMP).kind === 'events');
        expect(await api.post(sent)).toMatchObject({ status: 200, body: { appended: sent.length } });
        const others = events.filter((event) => !sent.includes(event)); // what only the platform writes, and what makes no sense
        await api.log.append(
          others.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })),
        );
      }
      await api.projected(formatPosition(await api.log.ends(TOPICS)));
      expect(await api.records()).toBe(all.length);
    } finally {
      await api.close();
    }
  }, 300_000);
}

function inRequests(events: readonly Envelope[]): readonly (readonly Envelope[])[] {
  return Array.from({ length: Math.ceil(events.length / 300) }, (_, i) => events.slice(300 * i, 300 * (i + 1)));
}

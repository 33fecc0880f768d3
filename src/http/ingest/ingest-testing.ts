import { expect } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import type { Answer, TestApi } from '../http-testing.ts';

/** A builder whose ids nobody can compute, so that a key may send them. */
export class DrawnBuilder extends EventBuilder {
  readonly #ids = new Map<string, string>();
  override id(...parts: (string | number)[]): string {
    const key = JSON.stringify(parts);
    const id = this.#ids.get(key) ?? newId();
    this.#ids.set(key, id);
    return id;
  }
}

let builders = 0;
/** Returns a run with one open tree, under ids that no other test of the file has. */
export function givenRun() {
  const builder = new EventBuilder(`ingest ${builders++}`);
  const runId = builder.run();
  const tree = builder.tree(runId);
  return { builder, runId, tree };
}

/** Posts events and expects that all of them are new. */
export async function appended(api: TestApi, events: readonly Envelope[]): Promise<Answer> {
  const answer = await api.post(events);
  expect(answer).toMatchObject({ status: 200, body: { accepted: events.length, appended: events.length, duplicates: 0 } });
  return answer;
}

/** Expects a refusal and an untouched log. */
export async function refused(api: TestApi, send: () => Promise<Answer>, status: number, problem?: object): Promise<Answer> {
  const before = await api.records();
  const answer = await send();
  expect(answer.status).toBe(status);
  expect(answer.body.error).toMatchObject({ message: expect.any(String), remedy: expect.any(String) });
  if (problem) expect(answer.body.error?.problems?.[0]).toMatchObject(problem);
  expect(await api.records()).toBe(before);
  return answer;
}

import type { EventType } from './catalogue.ts';

/**
 * Brings events written in an older shape up to the current one, one version at a time. Each entry takes the whole event of
 * version n (a plain JSON object) and returns the payload of version n+1. A new entry arrives with its frozen fixture in
 * `fixtures/`.
 */
type Upcaster = (event: Record<string, unknown>) => Record<string, unknown>;

const upcasters: Partial<Record<EventType, Readonly<Record<number, Upcaster>>>> = {};

/**
 * Lifts a stored event from `version` to the current version of its type. @throws when a step is missing: a bug of the catalogue.
 */
export function upcast(type: EventType, version: number, event: object, steps: typeof upcasters = upcasters): object {
  let current: Record<string, unknown> = { ...event };
  for (let v = version; steps[type]?.[v]; v++) current = { ...steps[type]?.[v]?.(current), schemaVersion: v + 1 };
  if (current.schemaVersion === version) throw new Error(`no upcaster from version ${version} of ${type}`);
  return current;
}

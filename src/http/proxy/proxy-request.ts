import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { type PolicyRef, policyId } from '../../events/schemas/values.ts';
import { isPlaceName, LONGEST_NAME, type NamedPlace } from '../../usecases/capture/place.ts';

const CONTROLS = '[\\u0000-\\u001f\\u007f-\\u009f]';
const named = (message: string) =>
  z
    .string({ error: message })
    .min(1)
    .max(LONGEST_NAME)
    .refine(isPlaceName, 'holds control characters')
    .meta({ not: { pattern: CONTROLS } });
const OF_ADDRESS = 'is missing';
const OF_HEADER = 'is missing: send the request to /v1/proxy/RUN/TASK/ROLLOUT/…, or send this header';

/** The names of a place in an address. */
export const placeParams = z.object({
  run: named(OF_ADDRESS).describe('Name of the run in the project, or its id.'),
  task: named(OF_ADDRESS).describe('Name of the task in the run, or the id of its tree.'),
  rollout: named(OF_ADDRESS).describe('Name or number of the rollout of the task, or its id.'),
});
export type PlaceParams = z.infer<typeof placeParams>;

/** What headers say in place of an address, and besides. */
export const placeHeaders = z.looseObject({
  'x-espalier-run': named(OF_HEADER).describe('Name of the run in the project, or its id.'),
  'x-espalier-task': named(OF_HEADER).describe('Name of the task in the run, or the id of its tree.'),
  'x-espalier-rollout': named(OF_HEADER).describe('Name or number of the rollout of the task, or its id.'),
});
export const runHeaders = placeHeaders.pick({ 'x-espalier-run': true }).extend({
  'x-espalier-task': named(OF_HEADER).optional().describe('Name of the task in the run; the whole run when left out.'),
});
const POLICY = /^(.{1,200})@(\d{1,9})$/;
export const policyHeader = z.looseObject({
  'x-espalier-policy': z
    .string()
    .regex(POLICY, 'is not NAME@VERSION, as qwen@3')
    .refine(
      (text) => policyId.safeParse(POLICY.exec(text)?.[1]).success,
      'names no policy: nothing invisible and no `..` is a part of a name',
    )
    .optional()
    .describe('Policy that answers, as `NAME@VERSION`; that of the run, else the model at version 0, when left out.'),
});

/** Reads the place of a request whose parameters and headers fit their schemas: of its address, or else of its headers. */
export function placeOf(params: Partial<PlaceParams>, headers: IncomingHttpHeaders): NamedPlace {
  const of = (part: keyof NamedPlace) => params[part] ?? String(headers[`x-espalier-${part}`]);
  return { run: of('run'), task: of('task'), rollout: of('rollout') };
}

/** Reads the policy that a request names in a header that fits its schema. */
export function policyOf(headers: IncomingHttpHeaders): { readonly policy?: PolicyRef } {
  const [, name, version] = POLICY.exec(String(headers['x-espalier-policy'] ?? '')) ?? [];
  return name === undefined ? {} : { policy: { policyId: name, version: Number(version) } };
}

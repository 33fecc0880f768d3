import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { PolicyRef } from '../../events/schemas/values.ts';
import { policyRef } from '../../events/schemas/values.ts';
import { CaptureRefused } from '../../usecases/capture/capture-errors.ts';
import type { Named } from '../../usecases/capture/place.ts';

/** The names of a place in an address; each may be any text without a slash. */
export const placeParams = z.object({
  run: z.string().min(1).describe('Name of the run in the project, or its id.'),
  task: z.string().min(1).describe('Name of the task in the run, or the id of its tree.'),
  rollout: z.string().min(1).describe('Name or number of the rollout of the task, or its id.'),
});
export type PlaceParams = z.infer<typeof placeParams>;

/** What headers say in place of an address, and besides. */
export const PLACE_HEADERS = {
  'x-espalier-run': 'Name of the run in the project, or its id.',
  'x-espalier-task': 'Name of the task in the run, or the id of its tree.',
  'x-espalier-rollout': 'Name or number of the rollout of the task, or its id.',
};
export const RUN_HEADERS = {
  'x-espalier-run': PLACE_HEADERS['x-espalier-run'],
  'x-espalier-task': 'Name of the task in the run; the whole run when left out.',
};
export const POLICY_HEADER = {
  'x-espalier-policy': 'Policy that answers, as `NAME@VERSION`; that of the run, else the model at version 0, when left out.',
};

/** Reads the place of a request: of its address, or else of its headers. @throws CaptureRefused. */
export function namedBy(params: Partial<PlaceParams>, headers: IncomingHttpHeaders): Named {
  const of = (part: keyof Named) => partBy(part, params, headers);
  return { run: of('run'), task: of('task'), rollout: of('rollout') };
}

/** Reads one part of it. @throws CaptureRefused. */
export function partBy(part: keyof Named, params: Partial<PlaceParams>, headers: IncomingHttpHeaders): string {
  const name = params[part] ?? headers[`x-espalier-${part}`];
  if (typeof name === 'string' && name !== '') return name;
  throw new CaptureRefused(
    'invalid',
    `the request names no ${part}`,
    `send it to /v1/proxy/RUN/TASK/ROLLOUT/…, or send the header x-espalier-${part}`,
  );
}

/** Reads the policy that a request names. @throws CaptureRefused. */
export function policyBy(headers: IncomingHttpHeaders): { readonly policy?: PolicyRef } {
  const named = headers['x-espalier-policy'];
  if (named === undefined) return {};
  const [, policyId, version] = /^(.+)@(\d{1,10})$/.exec(String(named)) ?? [];
  const parsed = policyRef.safeParse({ policyId, version: Number(version) });
  if (parsed.success) return { policy: parsed.data };
  throw new CaptureRefused('invalid', 'x-espalier-policy is not NAME@VERSION', 'write it as qwen@3, or leave it out');
}

import { z } from 'zod';
import { secretNameOf } from '../../runtime/named-secret.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { openAiPolicy } from '../openai-policy.ts';
import { definePolicy, nonEmpty, PolicySpecError } from '../policy-entry.ts';
import { samplingOptions } from './request.ts';

/** A model behind an OpenAI-compatible server. */
export const openai = definePolicy({
  kind: 'openai',
  forms: ['openai:MODEL@URL'],
  options: z.strictObject({
    baseUrl: z
      .string('must be an http or https address such as http://127.0.0.1:8000/v1')
      .refine(isHttpAddress, 'must be an http or https address such as http://127.0.0.1:8000/v1')
      .refine((url) => secretInUrl(url) === null, {
        error: ({ input }) =>
          `holds ${secretInUrl(String(input))}: ${SECRET_REMEDY}; OPENAI_API_KEY is the key of servers that name none`,
      }),
    /** The key of the server by its name, `secret:NAME`; that of OPENAI_API_KEY, where there is one, when left out. */
    apiKey: z
      .string()
      .refine((key) => secretNameOf(key) !== null, `must be the name of a key, secret:NAME: ${SECRET_REMEDY}`)
      .optional(),
    model: nonEmpty,
    policyId: nonEmpty.max(200).optional(),
    policyVersion: z.int().min(0).optional(),
    sampling: samplingOptions.optional(),
    maxTokens: z.int().min(1).optional(),
    stop: z.array(nonEmpty).max(16).optional(),
    tokenIds: z.enum(['ask', 'none']).optional(),
    /** Sends `admissible_actions` and `goal`, for a server that chooses among actions (`espalier serve policy`). */
    actions: z.enum(['send', 'none']).optional(),
    systemRole: z.enum(['system', 'merged']).optional(),
    maxPromptTokens: z.int().min(1).optional(),
    // fetch itself gives up on a server that has sent nothing for 300 s, so a longer limit would not be kept.
    timeoutMs: z.int().min(1).max(300_000).optional(),
    attempts: z.int().min(1).max(100).optional(),
  }),
  read: (rest = '') => {
    const [, model, baseUrl] = /^(.+)@(https?:\/\/.*|secret:[A-Z0-9_]+)$/.exec(rest) ?? [];
    if (model) return { model, baseUrl };
    throw new PolicySpecError('openai', 'needs a model and an address; write for example openai:qwen@http://127.0.0.1:8000/v1');
  },
  open(spec, { apiKey }) {
    const own = spec.apiKey ?? (namesKey(spec.baseUrl) ? undefined : checkedKey(apiKey));
    sendAddress(new URL(spec.baseUrl), own); // a secret that is missing is noticed now
    return openAiPolicy({ ...spec, apiKey: own });
  },
});

function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  // A header cannot hold other characters, and fetch would report that like a broken connection.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new PolicySpecError('apiKey', 'holds blanks, line ends or characters outside ASCII; copy it again');
  return key;
}

/** The key of an address comes before OPENAI_API_KEY, which other servers do not see then. */
function namesKey(baseUrl: string): boolean {
  return 'authorization' in sendAddress(new URL(baseUrl)).headers;
}

import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { sendAddress } from '../../runtime/secret-address.ts';
import { refuseLogProbs } from '../openai/log-prob-kind.ts';
import { drawingFields, drawingOf } from '../openai/request.ts';
import { type OpenAiOptions, openAiPolicy } from '../openai-policy.ts';
import { type Act, type Policy, PolicyError } from '../policy.ts';
import type { ServedVersion } from './model-server.ts';
import type { LockedWeights, WeightsGate } from './weights-gate.ts';

/** What of the requests the configuration of a policy chooses. */
export type ServedOptions = Pick<
  OpenAiOptions,
  'sampling' | 'maxTokens' | 'stop' | 'systemRole' | 'maxPromptTokens' | 'timeoutMs'
> & {
  readonly temperature?: number | undefined;
};

/** A policy behind a model server, which others may ask through it by the protocol of that server. */
export interface ServedPolicy extends Policy {
  /** Sends a chat-completions request on to the server while it holds this version. */
  forward(body: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Forwarded>;
}

/** What a server answered to a request that was sent on. */
export interface Forwarded {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** Whether requests can be sent on to the server of a policy. */
export function isServed(policy: Policy): policy is ServedPolicy {
  return 'forward' in policy;
}

/**
 * Makes the policy that acts by the weights of one version behind a model server. Every reply is compared with what the server
 * confirmed when it took the weights over: one that other weights drew is an error, never a sample of this version. A server that
 * goes while it is asked is opened again, once for each act.
 */
export function servedPolicy(gate: WeightsGate, version: ServedVersion, options: ServedOptions = {}): ServedPolicy {
  const ref = { policyId: version.policyId, version: version.version };
  const policies = new Map<string, Policy>(); // by address: a server that was opened again listens elsewhere
  const { temperature, ...sent } = options;
  function asking({ server, model }: LockedWeights): Policy {
    const key = `${model} ${server.baseUrl}`;
    const known =
      policies.get(key) ??
      openAiPolicy({
        ...sent,
        logProbs: 'checked',
        baseUrl: server.baseUrl,
        dialect: server.dialect,
        model,
        policyId: ref.policyId,
      });
    policies.set(key, known);
    return known;
  }
  /** Asks while the server holds the version; once more where it goes meanwhile. */
  async function asked<T>(signal: AbortSignal, ask: (weights: LockedWeights, either: AbortSignal) => Promise<T>): Promise<T> {
    for (let again = false; ; again = true) {
      let gone: AbortSignal | null = null;
      try {
        return await gate.use(version, signal, async (held) => {
          gone = held.server.gone;
          return ask(held, AbortSignal.any([signal, gone]));
        });
      } catch (error) {
        signal.throwIfAborted();
        if (again || !(gone as AbortSignal | null)?.aborted) throw error;
      }
    }
  }
  return {
    ref,
    act(request, signal) {
      const own = temperature === undefined ? request : { ...request, temperature };
      return asked(signal, async (held, either) => {
        const other = otherLogProbs(held, own.temperature);
        if (other && own.trains) throw other;
        const acts = await asking(held).act(own, either);
        return acts.map((act) => confirmed(other ? withoutLogProbs(act) : act, held, version));
      });
    },
    forward: (body, signal) =>
      asked(signal, async (held, either) => {
        const whole = completed(body, held, options);
        const other = otherLogProbs(held, Number(whole.temperature));
        if (other) throw other;
        return sendOn({ ...whole, model: held.model }, held.server.baseUrl, either);
      }),
    close: async () => undefined, // the gate is shared, and closed by who opened it
  };
}

/** Completes a request that is sent on by what our own requests ask for; the server would take the model's `generation_config`. */
function completed(
  body: Readonly<Record<string, unknown>>,
  { server }: LockedWeights,
  options: ServedOptions,
): Readonly<Record<string, unknown>> {
  const dialect = server.dialect ?? 'engine';
  const temperature = typeof body.temperature === 'number' ? body.temperature : (options.temperature ?? 1);
  const usual = drawingFields(drawingOf(temperature, options.sampling, dialect), dialect);
  const said = Object.entries(body).filter(([, value]) => value !== null);
  return { max_tokens: options.maxTokens, ...usual, ...Object.fromEntries(said) };
}

/** Returns the refusal of a request whose log-probabilities would not be those of what is drawn; null where they are. */
function otherLogProbs({ server: { baseUrl, logProbs } }: LockedWeights, temperature: number): PolicyError | null {
  return logProbs === undefined ? null : refuseLogProbs({ ...logProbs, baseUrl, temperature });
}

function withoutLogProbs({ tokens, ...act }: Act): Act {
  return { ...act, tokens: tokens && { ...tokens, logProbs: null } };
}

async function sendOn(body: object, baseUrl: string, signal: AbortSignal): Promise<Forwarded> {
  const { url, headers: key, hide } = sendAddress(new URL(`${withoutSlashes(baseUrl)}/chat/completions`));
  const headers = { ...key, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  return { status: response.status, answer: JSON.parse(hide(await response.text())) as Forwarded['answer'] }; // an object, by the protocol
}

function confirmed(act: Act, { fingerprint, answersAs }: LockedWeights, { policyId, version }: ServedVersion): Act {
  const drawnBy = act.call?.fingerprint ?? null;
  const model = act.call?.model ?? null;
  const other = fingerprint !== null && drawnBy !== fingerprint;
  if (!other && (answersAs === undefined || model === null || model === answersAs))
    return { ...act, policy: { policyId, version } };
  const [said, held] = other ? [drawnBy, fingerprint] : [model, answersAs];
  throw new PolicyError(
    'refused',
    `the model server answered by the weights ${said}, and version ${version} of ${policyId} has ${held}; let no other program exchange its weights`,
  );
}

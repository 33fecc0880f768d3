import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../domain/text/parse-json.ts';
import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { measureLogProbs } from '../../policies/openai/log-prob-kind.ts';
import { PolicySpecError } from '../../policies/policy-entry.ts';
import type { LoadedWeights, ModelServer, ServedVersion } from '../../policies/served/model-server.ts';
import type { Config } from '../../runtime/config.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';

const LOAD_MS = 900_000; // a large model is read from disk

/** A server of another program that answers over HTTP, by the address that its name holds. */
export interface Engine {
  readonly root: string;
  /** The base URL of its chat-completions protocol. */
  readonly baseUrl: string;
  /** Sends a request; `body` makes it a POST. @throws Error when the server is not reached. */
  ask(path: string, signal: AbortSignal, body?: unknown): Promise<EngineAnswer>;
  /** The models that it lists. @throws Error when it is not reached or lists none. */
  models(signal: AbortSignal): Promise<readonly ListedModel[]>;
  /** An error that names the server, what it refused and the remedy. */
  refusal(what: string, answer: EngineAnswer, remedy: string): Error;
}

export interface EngineAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
  /** The body as JSON; undefined where it is none. */
  readonly json: unknown;
}

const listed = z.object({
  data: z.array(z.object({ id: z.string(), root: z.string().nullish(), parent: z.string().nullish() })).min(1),
});
type ListedModel = z.infer<typeof listed>['data'][number];

/** Reads the address that follows the kind of a server. @param name of the program, for messages. @throws PolicySpecError. */
export function engineAt(name: string, kind: string, address: string): Engine {
  const secret = secretInUrl(address);
  if (secret !== null) throw new PolicySpecError('server', `holds ${secret}: ${SECRET_REMEDY}`);
  if (!isHttpAddress(address))
    throw new PolicySpecError('server', `needs the address of ${name}; write for example ${kind}:http://127.0.0.1:8000`);
  const root = withoutSlashes(address).replace(/\/v1$/, '');
  async function ask(path: string, signal: AbortSignal, body?: unknown): Promise<EngineAnswer> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(LOAD_MS)]);
    const { url, headers: key, hide } = sendAddress(new URL(`${root}${path}`));
    const headers = { ...key, 'content-type': 'application/json' };
    const request = body === undefined ? { headers: key } : { method: 'POST', body: JSON.stringify(body), headers };
    try {
      const response = await fetch(url, { ...request, signal: within });
      const text = hide(await response.text());
      return { status: response.status, ok: response.ok, text, json: parseJson(text) };
    } catch (error) {
      signal.throwIfAborted();
      const why = hide(error instanceof Error ? String(error.cause ?? error.message) : String(error));
      throw new Error(`${name} at ${root} is not reached: ${why}; start it, or name its address`);
    }
  }
  const refusal = (what: string, { status, text }: EngineAnswer, remedy: string) =>
    new Error(`${name} at ${root} ${what} (${status}: ${text.slice(0, 500)}); ${remedy}`);
  return {
    root,
    baseUrl: `${root}/v1`,
    ask,
    refusal,
    async models(signal) {
      const answer = await ask('/v1/models', signal);
      const found = listed.safeParse(answer.json);
      if (answer.ok && found.success) return found.data.data;
      throw refusal('lists no models', answer, `${kind}: is for a server of ${name}`);
    },
  };
}

/** Returns whether a checkpoint is an adapter, which a server loads next to the model that it was started with. */
async function isAdapter({ folder }: ServedVersion): Promise<boolean> {
  const found = await stat(join(folder, 'adapter_config.json')).catch(() => null);
  return found?.isFile() === true;
}

/** Names an adapter by what is in it: the same name never means other weights. */
function adapterName({ tensors }: ServedVersion): string {
  return `espalier-${tensors.slice(0, 24)}`;
}

/** What a model server is opened with. */
export interface ServerOptions {
  /** What follows the colon of its name; empty where there is none. */
  readonly rest: string;
  readonly config: Pick<Config, 'home' | 'python'>;
  /** How the passes are computed, as the training was declared. */
  readonly precision?: 'float32' | 'bfloat16' | undefined;
}

/** A kind of model server that the versions of a language model can act by. */
export interface ServerEntry {
  readonly kind: string;
  /** How it is named, as help and messages show it. */
  readonly form: string;
  /** Opens or connects to it. @throws Error with the reason and the remedy. */
  open(options: ServerOptions, first: ServedVersion, signal: AbortSignal): Promise<ModelServer>;
}

type Load<Name extends readonly string[]> = (
  engine: Engine,
  ...rest: [...names: Name, version: ServedVersion, signal: AbortSignal]
) => Promise<LoadedWeights>;

/** How a server of another program exchanges its weights. */
interface EngineCalls {
  /** What is done where log-probabilities are not those of what is drawn. */
  readonly processed: string;
  readonly loadWeights: Load<[base: string]>;
  /** Loads an adapter that it may hold already. */
  readonly loadAdapter: Load<[base: string, name: string]>;
  readonly unloadPath: string;
}

/** A server that somebody else runs: it reads whole weights, or an adapter under a name of its own, which requests name. */
export function engineServer(program: string, kind: string, calls: EngineCalls): ServerEntry {
  return {
    kind,
    form: `${kind}:URL`,
    async open({ rest }, _first, signal) {
      const engine = engineAt(program, kind, rest);
      const base = (await engine.models(signal)).find(({ parent }) => !parent)?.id ?? '';
      const post = async (body: object) => (await engine.ask('/v1/chat/completions', signal, body)).json;
      const measured = await measureLogProbs(post, base);
      let adapter: string | null = null;
      return {
        ...(measured === 'processed' ? {} : { logProbs: { kind: measured, remedy: calls.processed } }),
        baseUrl: engine.baseUrl,
        gone: new AbortController().signal, // it is not ours: a request that fails is tried again by its client
        async load(version, loading) {
          if (!(await isAdapter(version))) return calls.loadWeights(engine, base, version, loading);
          const name = adapterName(version);
          const loaded = await calls.loadAdapter(engine, base, name, version, loading);
          // nobody asks for the one before any more: the server would keep both in memory
          if (adapter !== null && adapter !== name) await engine.ask(calls.unloadPath, loading, { lora_name: adapter });
          adapter = name;
          return loaded;
        },
        close: async () => undefined,
      };
    },
  };
}

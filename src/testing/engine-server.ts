import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/**
 * A stand-in for an inference server that exchanges its weights by calls of its own. What it answers is the text of the weights'
 * file that it read last, and a reply is cached under its prompt until the cache is emptied, as real ones keep prefixes: a client
 * that loads too little, or empties too little, gets the text of other weights.
 */
export interface EngineServer {
  readonly root: string;
  /** Paths of the requests, in order of arrival. */
  readonly asked: readonly string[];
  /** Puts other weights into the server, as another program would. */
  intrude(folder: string): Promise<void>;
  close(): Promise<void>;
}

export const BASE = 'base-model';
const DETAIL = { detail: 'Not Found' }; // as a route that was not attached answers

interface State {
  weights: string;
  /** What the server calls its weights. */
  version: string;
  readonly adapters: Map<string, { readonly path: string; readonly text: string }>;
  readonly cache: Map<string, string>;
}
interface Answer {
  readonly status: number;
  readonly body: unknown;
}
type Body = Readonly<Record<string, unknown>>;
type Route = (body: Body, state: State) => Promise<Answer> | Answer;

const ok = (body: unknown): Answer => ({ status: 200, body });
const error = (status: number, message: string): Answer => ({ status, body: { error: { message, code: status } } });

/**
 * vLLM as it is started for this. @param start its flags: adapters at run time, development mode, named weights (newer ones), and
 * whether likeliest tokens have their log-probabilities before the temperature.
 */
export function startVllm(start: {
  readonly lora?: boolean;
  readonly dev?: boolean;
  readonly named?: boolean;
  readonly logProbs?: 'raw' | 'processed';
}): Promise<EngineServer> {
  return serve(
    {
      'GET /v1/models': (_, { adapters }) => ok({ object: 'list', data: listed(adapters) }),
      'POST /v1/chat/completions': (body, state) => {
        const model = String(body.model);
        const text = model === BASE ? state.weights : state.adapters.get(model)?.text;
        return text === undefined
          ? error(404, `The model \`${model}\` does not exist.`)
          : ok(reply(body, text, state, start.logProbs));
      },
      ...(start.lora && {
        'POST /v1/load_lora_adapter': async ({ lora_name, lora_path }, { adapters }) => {
          if (adapters.has(`${lora_name}`)) return error(400, `The lora adapter '${lora_name}' has already been loaded.`);
          const text = await readFile(join(`${lora_path}`, 'adapter_model.safetensors'), 'utf8').catch(() => null);
          if (text === null) return error(404, `Loading lora ${lora_name} failed: No adapter found for ${lora_path}`);
          adapters.set(`${lora_name}`, { path: `${lora_path}`, text });
          return ok(`Success: LoRA adapter '${lora_name}' added successfully.`);
        },
        'POST /v1/unload_lora_adapter': ({ lora_name }, { adapters }) =>
          adapters.delete(`${lora_name}`)
            ? ok(`Success: LoRA adapter '${lora_name}' removed successfully.`)
            : error(404, `The lora adapter '${lora_name}' cannot be found.`),
      }),
      ...(start.dev && {
        'POST /collective_rpc': async ({ method, kwargs }, state) => {
          if (method !== 'reload_weights') return error(500, `'Worker' object has no attribute '${method}'`);
          const path = `${(kwargs as Body).weights_path}`;
          const text = await weightsOf(path).catch(() => null);
          if (text === null) return error(500, `Cannot find any model weights with \`${path}\``);
          state.weights = text;
          return ok({ results: [null, null] }); // two workers
        },
        'POST /reset_prefix_cache': (_, { cache }) => {
          cache.clear();
          return ok('');
        },
      }),
      ...(start.named && {
        'POST /update_weight_version': ({ new_version }, state) => {
          state.version = `${new_version}`;
          return ok({ success: true, new_version });
        },
        'GET /weight_info': (_, { version }) => ok({ weight_version: version }),
      }),
    },
    () => ({}),
  );
}

/** SGLang; `legacy` releases say what they hold under another path. */
export function startSglang(start: { readonly lora?: boolean; readonly legacy?: boolean } = {}): Promise<EngineServer> {
  return serve(
    {
      'GET /v1/models': (_, { adapters }) => ok({ object: 'list', data: listed(adapters) }),
      [`GET ${start.legacy ? '/get_weight_version' : '/model_info'}`]: (_, { version }) => ok({ weight_version: version }),
      'POST /v1/chat/completions': (body, state) => {
        const [, adapter] = `${body.model}`.split(':');
        const text = adapter === undefined ? state.weights : state.adapters.get(adapter)?.text;
        return text === undefined
          ? error(400, `Got LoRA adapter that has never been loaded: ${adapter}`)
          : ok(reply(body, text, state));
      },
      'POST /update_weights_from_disk': async ({ model_path, weight_version, flush_cache }, state) => {
        const text = await weightsOf(`${model_path}`).catch(() => null);
        if (text === null) return { status: 400, body: { success: false, message: `Failed to update weights: ${model_path}` } };
        state.weights = text;
        if (weight_version !== undefined) state.version = `${weight_version}`;
        if (flush_cache) state.cache.clear();
        return ok({ success: true, message: 'Succeeded to update model weights.', num_paused_requests: 0 });
      },
      'POST /load_lora_adapter': async ({ lora_name, lora_path }, { adapters }) => {
        const failed = (error_message: string) => ({
          status: 400,
          body: { success: false, error_message, loaded_adapters: paths(adapters) },
        });
        if (!start.lora) return failed('LoRA is not enabled. Please set `--enable-lora` to enable LoRA.');
        if (adapters.has(`${lora_name}`)) return failed(`LoRA with name ${lora_name} already exists.`);
        const text = await readFile(join(`${lora_path}`, 'adapter_model.safetensors'), 'utf8').catch(() => null);
        if (text === null) return failed(`Can't find ${lora_path}`);
        adapters.set(`${lora_name}`, { path: `${lora_path}`, text });
        return ok({ success: true, error_message: '', loaded_adapters: paths(adapters) });
      },
      'POST /unload_lora_adapter': ({ lora_name }, { adapters }) => {
        adapters.delete(`${lora_name}`);
        return ok({ success: true, error_message: '', loaded_adapters: paths(adapters) });
      },
    },
    ({ version }) => ({ metadata: { weight_version: version } }),
  );
}

async function serve(routes: Readonly<Record<string, Route>>, more: (state: State) => object): Promise<EngineServer> {
  const state: State = { weights: 'as started', version: 'default', adapters: new Map(), cache: new Map() };
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // an undecoded request stream yields buffers
    asked.push(request.url ?? '');
    const text = Buffer.concat(chunks).toString('utf8');
    const route = routes[`${request.method} ${request.url}`];
    const { status, body } = (await route?.(text === '' ? {} : JSON.parse(text), state)) ?? { status: 404, body: DETAIL };
    const said = typeof body === 'object' && body !== null && 'choices' in body ? { ...body, ...more(state) } : body;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof said === 'string' ? said : JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    asked,
    async intrude(folder) {
      Object.assign(state, { weights: await weightsOf(folder), version: folder });
      state.cache.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function reply(
  { model, messages, temperature = 1, top_logprobs: likeliest }: Body,
  text: string,
  { cache }: State,
  kind?: 'raw' | 'processed',
): object {
  const key = JSON.stringify([model, messages]);
  const content = cache.get(key) ?? text;
  cache.set(key, content);
  const logprobs =
    kind && likeliest ? { logprobs: { content: [likeliestTokens(kind === 'raw' ? 1 : Number(temperature))] } } : {};
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', ...logprobs };
  return { id: 'cmpl-1', model, choices: [choice] };
}

/** Three tokens of the logits 2, 1 and 0. */
function likeliestTokens(temperature: number): object {
  const scaled = [2, 1, 0].map((logit) => logit / temperature);
  const total = Math.log(scaled.reduce((sum, each) => sum + Math.exp(each), 0));
  const top = scaled.map((each, i) => ({ token: `token_id:${i}`, logprob: each - total }));
  return { ...top[0], top_logprobs: top };
}

function listed(adapters: State['adapters']): readonly object[] {
  const more = [...adapters].map(([id, { path }]) => ({ id, object: 'model', root: path, parent: BASE }));
  return [{ id: BASE, object: 'model', root: '/models/base', parent: null }, ...more];
}

function paths(adapters: State['adapters']): object {
  return Object.fromEntries([...adapters].map(([name, { path }]) => [name, path]));
}

function weightsOf(folder: string): Promise<string> {
  return readFile(join(folder, 'model.safetensors'), 'utf8');
}

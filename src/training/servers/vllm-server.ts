import { z } from 'zod';
import type { LoadedWeights, ServedVersion } from '../../policies/served/model-server.ts';
import { type Engine, engineServer } from './engine-http.ts';

const NAME = 'vLLM';
const LORA =
  'start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, on the model that the adapter was trained on';
const PROCESSED = 'start it with --logprobs-mode processed_logprobs, or collect at temperature 1';
const DEVELOPMENT = 'start it with VLLM_SERVER_DEV_MODE=1, with the checkpoints folder under the same path';

/**
 * A vLLM server that somebody else runs. An adapter is loaded by `/v1/load_lora_adapter` under a name of its own, which requests
 * name and answers carry; whole weights are read again by `reload_weights` on every worker (`/collective_rpc`).
 */
export const vllmServer = engineServer(NAME, 'vllm', {
  processed: PROCESSED,
  loadWeights: reload,
  loadAdapter,
  unloadPath: '/v1/unload_lora_adapter',
});

async function loadAdapter(
  engine: Engine,
  _base: string,
  name: string,
  { folder }: ServedVersion,
  signal: AbortSignal,
): Promise<LoadedWeights> {
  const holds = async () => (await engine.models(signal)).find(({ id }) => id === name);
  if (!(await holds())) {
    const answer = await engine.ask('/v1/load_lora_adapter', signal, { lora_name: name, lora_path: folder });
    if (!answer.ok) throw engine.refusal(`does not load the adapter ${folder}`, answer, LORA);
  }
  const listed = await holds();
  if (!listed) throw new Error(`${NAME} at ${engine.root} loaded the adapter ${name} and does not list it; ${LORA}`);
  if (listed.root && listed.root !== folder)
    throw new Error(`${NAME} at ${engine.root} holds ${listed.root} as ${name}, not ${folder}; unload it there`);
  return { model: name, fingerprint: null, answersAs: name };
}

async function reload(
  engine: Engine,
  base: string,
  { folder, tensors }: ServedVersion,
  signal: AbortSignal,
): Promise<LoadedWeights> {
  const call = { method: 'reload_weights', kwargs: { weights_path: folder } };
  const answer = await engine.ask('/collective_rpc', signal, call);
  // Every worker answers; nothing comes back where none was asked.
  const workers = z.object({ results: z.array(z.unknown()).min(1) }).safeParse(answer.json);
  if (!answer.ok || !workers.success) throw engine.refusal(`does not read the weights of ${folder}`, answer, DEVELOPMENT);
  // Keys and values of the weights before would answer for prompts that begin alike.
  const emptied = await engine.ask('/reset_prefix_cache', signal, {});
  if (!emptied.ok) throw engine.refusal('does not empty its cache of prefixes', emptied, DEVELOPMENT);
  await confirm(engine, tensors, signal);
  return { model: base, fingerprint: null, answersAs: base };
}

/** Compares the name of the weights that newer versions keep; older ones (404) have none, and their workers' answers count. */
async function confirm(engine: Engine, tensors: string, signal: AbortSignal): Promise<void> {
  const named = await engine.ask('/update_weight_version', signal, { new_version: tensors });
  if (named.status === 404) return;
  const answer = await engine.ask('/weight_info', signal);
  const held = z.object({ weight_version: z.string() }).safeParse(answer.json).data?.weight_version;
  if (held !== tensors) throw engine.refusal(`names other weights than ${tensors}`, answer, 'let no other program exchange them');
}

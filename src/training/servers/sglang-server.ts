import { z } from 'zod';
import type { LoadedWeights, ServedVersion } from '../../policies/served/model-server.ts';
import { type Engine, type EngineAnswer, engineServer } from './engine-http.ts';

const NAME = 'SGLang';
const LORA = 'start it with --enable-lora on the model that the adapter was trained on';
const PROCESSED = 'start it without SGLANG_RETURN_ORIGINAL_LOGPROB, or collect at temperature 1';
const FOLDER = 'the checkpoints folder must be there under the same path';

/**
 * An SGLang server that somebody else runs. Whole weights are exchanged by `/update_weights_from_disk` under their digest as
 * `weight_version`, which every answer carries; an adapter is loaded by `/load_lora_adapter` and asked for as `MODEL:ADAPTER`.
 */
export const sglangServer = engineServer(NAME, 'sglang', {
  processed: PROCESSED,
  loadWeights: update,
  loadAdapter,
  unloadPath: '/unload_lora_adapter',
});

async function update(
  engine: Engine,
  base: string,
  { folder, tensors }: ServedVersion,
  signal: AbortSignal,
): Promise<LoadedWeights> {
  const asked = { model_path: folder, weight_version: tensors, abort_all_requests: false, flush_cache: true };
  const answer = await engine.ask('/update_weights_from_disk', signal, asked);
  if (!succeeded(answer)) throw engine.refusal(`does not read the weights of ${folder}`, answer, FOLDER);
  for (const path of ['/model_info', '/get_weight_version']) {
    const info = await engine.ask(path, signal);
    const held = z.object({ weight_version: z.string() }).safeParse(info.json).data?.weight_version;
    if (held === undefined) continue; // which of the two answers depends on the release
    if (held === tensors) return { model: base, fingerprint: tensors };
    throw engine.refusal(`names other weights than ${tensors}`, info, 'let no other program exchange them');
  }
  throw new Error(
    `${NAME} at ${engine.root} does not say which weights it holds; use a release whose /model_info has weight_version`,
  );
}

async function loadAdapter(
  engine: Engine,
  base: string,
  name: string,
  { folder }: ServedVersion,
  signal: AbortSignal,
): Promise<LoadedWeights> {
  const answer = await engine.ask('/load_lora_adapter', signal, { lora_name: name, lora_path: folder });
  const loaded = z.object({ loaded_adapters: z.record(z.string(), z.unknown()) }).safeParse(answer.json).data?.loaded_adapters;
  // also when it was loaded before, by a process that went on here
  if (loaded && name in loaded) return { model: `${base}:${name}`, fingerprint: null, answersAs: `${base}:${name}` };
  throw engine.refusal(`does not load the adapter ${folder}`, answer, LORA);
}

function succeeded({ ok, json }: EngineAnswer): boolean {
  return ok && z.object({ success: z.literal(true) }).safeParse(json).success;
}

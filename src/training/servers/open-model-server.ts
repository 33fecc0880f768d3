import { basename, dirname } from 'node:path';
import { PolicySpecError } from '../../policies/policy-entry.ts';
import type { OpenModelServer } from '../../policies/served/model-server.ts';
import type { Config } from '../../runtime/config.ts';
import { BackendFailed, findPython } from '../backends/torch/python-process.ts';
import { serveModel } from '../backends/torch/serve-model.ts';
import { engineAt, type ServerEntry, type ServerOptions } from './engine-http.ts';
import { sglangServer } from './sglang-server.ts';
import { vllmServer } from './vllm-server.ts';

/** The server that comes with Espalier, started as a process of ours on a free port: `espalier_rl.trainer.serve`. */
const ownServer: ServerEntry = {
  kind: 'own',
  form: 'own',
  async open({ config, precision }, first) {
    const python = await pythonOf(config);
    const started = await serveModel({
      python,
      folder: dirname(first.folder),
      checkpoint: basename(first.folder),
      name: 'policy',
      ...(precision === undefined ? {} : { precision }),
    });
    return {
      baseUrl: started.url,
      gone: started.gone,
      close: started.close,
      async load({ folder, version, tensors }, signal) {
        const fingerprint = await started.load(basename(folder), signal);
        if (fingerprint === tensors) return { model: 'policy', fingerprint };
        throw new BackendFailed(
          'damaged',
          `the model server read other weights (${fingerprint}) from ${folder} than version ${version} was saved with (${tensors}); put the folder back from a copy`,
        );
      },
    };
  },
};

async function pythonOf({ python }: Pick<Config, 'python'>): Promise<string> {
  const found = await findPython(python);
  if (found.kind === 'found') return found.python;
  throw new BackendFailed('refused', `a language model acts by a server in Python: ${found.reason}`);
}

const NAME = 'transformers serve';

/**
 * A `transformers serve` that somebody else runs, started without a model of its own. A version is loaded by `/load_model` under
 * the path of its folder, which requests name. It returns neither token ids nor log-probs: what it answers is text.
 */
const transformersServer: ServerEntry = {
  kind: 'transformers',
  form: 'transformers:URL',
  async open({ rest }, _first, signal) {
    const engine = engineAt(NAME, 'transformers', rest);
    const answer = await engine.ask('/health', signal);
    if (!answer.ok) throw engine.refusal('is not healthy', answer, 'start it again');
    return {
      baseUrl: engine.baseUrl,
      dialect: 'transformers',
      gone: new AbortController().signal, // it is not ours: a request that fails is tried again by its client
      async load({ folder }, loading) {
        const loaded = await engine.ask('/load_model', loading, { model: folder });
        // Server-sent events: progress, and the last one says how it ended.
        const last = loaded.text.trim().split('\n').at(-1) ?? '';
        const model = `${folder}@main`; // as it names what it was asked for without a revision
        if (loaded.ok && last.includes('"status": "ready"') && last.includes(JSON.stringify(model)))
          return { model: folder, fingerprint: null, answersAs: model };
        throw engine.refusal(
          `does not load ${folder}`,
          { ...loaded, text: last },
          'the folder must be there under the same path',
        );
      },
      close: async () => undefined,
    };
  },
};

/** The model servers that can exchange their weights for those of a version. */
const SERVERS: readonly ServerEntry[] = [ownServer, vllmServer, sglangServer, transformersServer];

export const SERVER_FORMS = SERVERS.map(({ form }) => form).join(', ');

/** Finds the server that a name such as `own` means, and what opens it. @throws PolicySpecError. */
export function modelServerOf(name: string, options: Omit<ServerOptions, 'rest'>): OpenModelServer {
  const [, kind = '', rest = ''] = /^([^:]*)(?::(.*))?$/s.exec(name) ?? [];
  const entry = SERVERS.find((each) => each.kind === kind);
  if (!entry) throw new PolicySpecError('server', `${JSON.stringify(name.slice(0, 80))} is unknown; write ${SERVER_FORMS}`);
  return (first, signal) => entry.open({ ...options, rest }, first, signal);
}

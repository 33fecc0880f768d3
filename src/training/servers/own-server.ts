import { basename, dirname } from 'node:path';
import type { Config } from '../../runtime/config.ts';
import { BackendFailed } from '../backends/torch/backend-failed.ts';
import { findPython } from '../backends/torch/find-python.ts';
import { serveModel } from '../backends/torch/serve-model.ts';
import type { ServerEntry } from './server-entry.ts';

/** The server that comes with Espalier, started as a process of ours on a free port: `espalier_rl.trainer.serve`. */
export const ownServer: ServerEntry = {
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

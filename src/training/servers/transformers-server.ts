import { engineAt } from './engine-http.ts';
import type { ServerEntry } from './server-entry.ts';

const NAME = 'transformers serve';

/**
 * A `transformers serve` that somebody else runs, started without a model of its own. A version is loaded by `/load_model` under
 * the path of its folder, which requests name. It returns neither token ids nor log-probs: what it answers is text.
 */
export const transformersServer: ServerEntry = {
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

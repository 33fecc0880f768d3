import { PythonServerFailed, startPythonServer } from '../../../runtime/python-server.ts';
import { BackendFailed } from './python-process.ts';

export interface ServeOptions {
  readonly python: string;
  /** The folder of checkpoints, and the name of the one to begin with. */
  readonly folder: string;
  readonly checkpoint: string;
  /** What requests call the model. */
  readonly name: string;
  readonly device?: 'cpu' | 'cuda';
  readonly precision?: 'float32' | 'bfloat16';
}

export interface StartedServer {
  /** The base URL to give the OpenAI-compatible policy. */
  readonly url: string;
  /**
   * Takes over the weights of another checkpoint of the folder, between two requests. Returns the SHA-256 of its tensors, which
   * its answers carry from now on. @throws BackendFailed.
   */
  load(checkpoint: string, signal?: AbortSignal): Promise<string>;
  /** Aborted when its process has ended. */
  readonly gone: AbortSignal;
  close(): Promise<void>;
}

const START_MS = 300_000; // torch and a large model are read from disk

/** Starts `python -m espalier_rl.trainer.serve` on a free port of loopback; it ends with this process. @throws BackendFailed. */
export async function serveModel(options: ServeOptions): Promise<StartedServer> {
  const { python, folder, checkpoint, name, device, precision } = options;
  const args = [
    ...['-m', 'espalier_rl.trainer.serve', '--model', `${folder}/${checkpoint}`, '--name', name],
    ...['--port', '0', '--weights-root', folder, '--end-with-stdin'],
    ...(device ? ['--device', device] : []),
    ...(precision ? ['--precision', precision] : []),
  ];
  const { url, lines, gone, close } = await startPythonServer(python, args, START_MS).catch((error: unknown) => {
    if (!(error instanceof PythonServerFailed)) throw error;
    throw new BackendFailed('ended', `the model server did not start: ${error.message}`, error.lines.join('\n'));
  });
  const ended = new AbortController();
  void gone.then((why) => ended.abort(new BackendFailed('ended', `the model server ${why}`, lines.join('\n'))));
  const load = async (next: string, signal?: AbortSignal) => {
    const answer = await postWeights(url, next, AbortSignal.any([ended.signal, ...(signal ? [signal] : [])])).catch(
      async (error: unknown) => {
        signal?.throwIfAborted();
        await close(); // it is gone, or as good as gone: whoever asked opens another one
        throw new BackendFailed('ended', `the model server did not answer to a change of weights: ${String(error)}`);
      },
    );
    return weightsOf(answer, next);
  };
  return { url, close, load, gone: ended.signal };
}

interface Answered {
  readonly ok: boolean;
  readonly text: string;
}

async function postWeights(url: string, checkpoint: string, signal: AbortSignal): Promise<Answered> {
  const response = await fetch(`${url}/weights`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ checkpoint }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(START_MS)]),
  });
  return { ok: response.ok, text: await response.text() };
}

function weightsOf({ ok, text }: Answered, checkpoint: string): string {
  if (!ok) throw new BackendFailed('refused', `the model server did not take ${checkpoint}: ${text}`);
  const { weights } = JSON.parse(text) as { readonly weights?: unknown };
  if (typeof weights === 'string') return weights;
  throw new BackendFailed('protocol', `the model server did not say which weights it took: ${text.slice(0, 500)}`);
}

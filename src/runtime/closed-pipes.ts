import type { EventEmitter } from 'node:events';

type Output = Pick<EventEmitter, 'on'>;
const outliving = new WeakSet<Output>();

/**
 * Lets the process outlive the readers of its output: whoever closes a pipe (`| head`, a log collector that restarts) has what it
 * wanted, and what is written afterwards goes nowhere. Without this the next line, were it a line of progress, would end the
 * work. Other faults of an output stay faults.
 */
export function outliveClosedPipes(outputs: readonly Output[] = [process.stdout, process.stderr]): void {
  for (const output of outputs) {
    if (outliving.has(output)) continue;
    outliving.add(output);
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
    });
  }
}

/** Runs work that Ctrl-C may stop: the first aborts the signal and lets the work in hand end, the second stops the process at once. */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(130);
    process.stderr.write('\nstopping after the work in hand; press Ctrl-C again to stop at once\n');
    stopping.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    return await work(stopping.signal);
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}

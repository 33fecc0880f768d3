/**
 * Whether an error is the end of what an aborted signal stopped. Timers of Node, `fetch` and streams throw an error of their own, of
 * another realm perhaps, with the reason as its cause.
 */
export function isAbort(error: unknown, { aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false;
  if (error === reason) return true;
  const { name, cause } = (error ?? {}) as { readonly name?: unknown; readonly cause?: unknown }; // anything may be thrown
  return name === 'AbortError' || (cause !== undefined && cause === reason);
}

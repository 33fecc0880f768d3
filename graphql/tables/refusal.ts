/** Returns a refusal in the form of every endpoint: `{error: {code, message, remedy}}`. */
export function refusal(status: number, code: string, message: string, remedy: string, retryAfter?: number): Response {
  return new Response(`${JSON.stringify({ error: { code, message, remedy } })}\n`, {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
  });
}

import type { FetchAPI, Plugin } from 'graphql-yoga';

const TAKEN = /^(application\/(json|graphql\+json|graphql|x-www-form-urlencoded))\s*(;|$)/i;
const PARAMETERS = ['variables', 'extensions'];

/**
 * Refuses, with a reason, what yoga refuses with an empty answer or falls over: bodies of another type, other methods, and
 * parameters of the address that are no JSON.
 */
export function useReadableRequest(): Plugin {
  return {
    onRequest({ request, url, fetchAPI, endResponse }) {
      const refusal = refusalOf(request.method, request.headers, url.searchParams);
      if (refusal) endResponse(answer(fetchAPI, refusal));
    },
    onResponse({ response, setResponse, fetchAPI }) {
      const message =
        'the answer comes in none of the types of Accept: send application/json, or text/event-stream for a subscription';
      if (response.status === 406) setResponse(answer(fetchAPI, { status: 406, message }));
    },
  };
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

function answer(fetchAPI: FetchAPI, { status, message }: Refusal): Response {
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
  const headers = { 'content-type': 'application/json; charset=utf-8', ...(status === 405 ? { allow: 'GET, POST' } : {}) };
  return new fetchAPI.Response(body, { status, headers });
}

function refusalOf(method: string, headers: Headers, parameters: URLSearchParams): Refusal | undefined {
  if (!['GET', 'HEAD', 'POST', 'OPTIONS'].includes(method)) return { status: 405, message: 'a query comes by GET or POST' };
  if (method === 'POST' && !TAKEN.test(headers.get('content-type') ?? ''))
    return { status: 415, message: 'the Content-Type of a query is application/json: send {"query": …, "variables": …}' };
  const broken = PARAMETERS.find((name) => !isJson(parameters.get(name) ?? 'null'));
  return broken === undefined
    ? undefined
    : { status: 400, message: `the parameter ${broken} of the address is no JSON; write it as a JSON object` };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

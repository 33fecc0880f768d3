import { cutText } from '../../domain/text/cut-text.ts';
import { PolicyError } from '../policy.ts';

/** Turns a final 4xx into the error it means, with the server's own words and the remedy where one is known. */
export function refusalOf(status: number, body: string, url: string): PolicyError {
  const message = serverMessage(body);
  if (isContextOverflow(status, body, message))
    return new PolicyError('context-overflow', `the prompt is too long for the model: ${message}`);
  return new PolicyError(
    'refused',
    `the model server refused the request with status ${status}: ${message}${remedyFor(status, url)}`,
    { status },
  );
}

/** Takes the message out of an error body in any of the known shapes; the raw text, cut, where it has none. */
export function serverMessage(body: string): string {
  const found = errorFields(body).message ?? (body.trim() || 'no message');
  return found.length > 1_000 ? `${cutText(found, 1_000)}…` : found;
}

/** OpenAI sends the code; vLLM and SGLang only words, and older vLLM complains that nothing is left for the reply. */
function isContextOverflow(status: number, body: string, message: string): boolean {
  if (status !== 400 && status !== 413 && status !== 422) return false;
  if (errorFields(body).code === 'context_length_exceeded') return true;
  return /maximum context length|model'?s context length|context window|max_model_len|max(?:imum)?[ _]model[ _]len(?:gth)?|max_tokens must be at least 1, got -/i.test(
    message,
  );
}

function errorFields(body: string): { message?: string; code?: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return {};
  }
  // {"error": {"message", "code"}} (OpenAI, newer vLLM), {"message", "code"} (older vLLM, SGLang), {"error": "…"}, {"detail": …}
  // (FastAPI)
  const outer = fields(value);
  const inner = 'error' in outer ? outer.error : value;
  if (typeof inner === 'string') return { message: inner };
  const { message, code } = fields(inner);
  const text = message ?? outer.detail;
  return {
    ...(text === undefined ? {} : { message: typeof text === 'string' ? text : JSON.stringify(text) }),
    ...(typeof code === 'string' ? { code } : {}),
  };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function remedyFor(status: number, url: string): string {
  if (status === 401 || status === 403) return '; check the API key';
  if (status === 404)
    return `; check the model's name, and that ${url} is the server's chat address (its base URL mostly ends in /v1)`;
  if (status === 400 || status === 422) return '; if the server knows no token ids, set tokenIds to "none"';
  return '';
}

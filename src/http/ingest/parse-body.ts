import type { IncomingHttpHeaders } from 'node:http';
import { cutText } from '../../domain/text/cut-text.ts';
import { type JsonLoss, jsonLoss } from '../../events/json-loss.ts';
import type { Parsed } from '../endpoint.ts';
import { PROBLEM_LIMIT, type Problem, type Reply, refuse } from '../reply.ts';

export type Values = Parsed<readonly unknown[]>;
export type Media = 'json' | 'ndjson';

const MEDIA: Readonly<Record<string, Media>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
};

/**
 * Reads which form a body has from its Content-Type. Undefined when it is none that is taken, or in another charset than UTF-8.
 */
export function mediaOf(headers: IncomingHttpHeaders): Media | undefined {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters
    .map((part) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(part)?.[1])
    .find((value) => value !== undefined);
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' ? MEDIA[type.trim()] : undefined;
}

/** Answers 415. */
export function unknownMedia(headers: IncomingHttpHeaders): Reply {
  return refuse(
    415,
    `Content-Type ${JSON.stringify((headers['content-type'] ?? '').slice(0, 100))} is not taken`,
    'send application/json (one event or an array) or application/x-ndjson (an event per line), in UTF-8',
  );
}

/**
 * Parses a body into as many JSON values as it holds: one object, an array, or a line each (blank lines are skipped). Numbers that
 * do not survive the parser, and keys that occur twice in one object, are refused by their path.
 */
export function parseBody(bytes: Uint8Array, media: Media, limit: number): Values {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refused(
      400,
      'the body is not UTF-8',
      'encode it as UTF-8; a half surrogate is written as a JSON escape such as \\ud800',
    );
  }
  if (text.trim() === '') return refused(400, 'the body is empty', 'send one event, an array of events, or an event per line');
  return media === 'json' ? parseJson(text, limit) : parseLines(text, limit);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(text: string, limit: number): Values {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused(
      400,
      `the body is not JSON: ${reasonOf(error)}`,
      'send one event, an array of events, or NDJSON with its own type',
    );
  }
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (values.length > limit) return tooMany(limit);
  const loss = jsonLoss(text, value);
  return loss ? lossy([problemOf(loss, Array.isArray(value) ? null : 0)]) : { kind: 'parsed', value: values };
}

function parseLines(text: string, limit: number): Values {
  const values: unknown[] = [];
  const problems: Problem[] = [];
  const losses: Problem[] = [];
  const lines = text.split('\n');
  for (const [number, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const index = values.length + problems.length;
    if (index >= limit) return tooMany(limit);
    try {
      const value = JSON.parse(line);
      const loss = losses.length < PROBLEM_LIMIT ? jsonLoss(line, value) : undefined;
      if (loss) losses.push(problemOf(loss, index));
      values.push(value);
    } catch (error) {
      problems.push({
        index,
        path: '',
        message: `line ${number + 1} is not JSON: ${reasonOf(error)}`,
        remedy: 'one whole event per line',
      });
      if (problems.length === PROBLEM_LIMIT) break;
    }
  }
  if (problems.length === 0) return losses.length > 0 ? lossy(losses) : { kind: 'parsed', value: values };
  return {
    kind: 'refused',
    reply: refuse(400, 'some lines are not JSON; nothing was appended', 'correct them and send all again', { problems }),
  };
}

/** @param index the event's, or null where the path begins with it. */
function problemOf({ path, message, remedy }: JsonLoss, index: number | null): Problem {
  const [first = '', ...rest] = path.split('.');
  return index === null ? { index: Number(first), path: rest.join('.'), message, remedy } : { index, path, message, remedy };
}

function lossy(problems: readonly Problem[]): Values {
  const reply = refuse(422, 'a reader of JSON would lose a part of it; nothing was appended', 'correct it and send all again', {
    problems,
  });
  return { kind: 'refused', reply };
}

function tooMany(limit: number): Values {
  return refused(413, `more than ${limit} events in one request`, 'send them in smaller requests');
}

function refused(status: number, message: string, remedy: string): Values {
  return { kind: 'refused', reply: refuse(status, message, remedy) };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? cutText(error.message.toWellFormed(), 200) : String(error);
}

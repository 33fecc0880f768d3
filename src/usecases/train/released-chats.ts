import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { openSha256 } from '../../digest/sha256.ts';

/** A reply of a released example and what the environment answered. */
export interface ReleasedTurn {
  readonly response: string;
  /** Null after the last reply, which released chats leave unanswered. */
  readonly observation: string | null;
  /** Whether the release says to train on the reply. */
  readonly loss: boolean;
}

/** An example of a release in the format `openai`, with its metadata. */
export interface ReleasedChat {
  /** Its line in the file, from 1. */
  readonly line: number;
  readonly kind: 'good' | 'revision';
  readonly alias: string;
  readonly firstObservation: string;
  readonly turns: readonly ReleasedTurn[];
}

/** The file is not the release it is taken for, or not one to train on. */
export class ReleaseUnreadable extends Error {
  override readonly name = 'ReleaseUnreadable';
}

const row = z.object({
  messages: z.array(
    z.object({
      role: z.enum(['system', 'user', 'assistant']),
      content: z.string(),
      weight: z.union([z.literal(0), z.literal(1)]).optional(),
    }),
  ),
  metadata: z.object({ kind: z.enum(['good', 'revision']), task: z.object({ alias: z.string() }) }),
});

/**
 * Reads the examples of a released file, format `openai` with metadata. @param sha256 what the release says of the file: what is
 * trained on must be what was frozen. @throws ReleaseUnreadable when its bytes are others, or a line is no such example.
 */
export async function readReleasedChats(path: string, sha256: string): Promise<readonly ReleasedChat[]> {
  const hash = openSha256();
  const file = createReadStream(path);
  file.on('data', (bytes) => hash.update(bytes));
  const chats: ReleasedChat[] = [];
  for await (const line of createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY }))
    chats.push(parseChat(line, `${path}, line ${chats.length + 1}`, chats.length + 1));
  if (hash.digest('hex') !== sha256)
    throw new ReleaseUnreadable(
      `${path} is not what was released: its SHA-256 is another; remove it, and the release is written again`,
    );
  return chats;
}

function parseChat(text: string, place: string, line: number): ReleasedChat {
  const parsed = row.safeParse(jsonOf(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ReleaseUnreadable(
      `${place}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}; train on the format openai, with metadata`,
    );
  }
  const { messages, metadata } = parsed.data;
  const first = messages.findIndex(({ role }) => role === 'assistant');
  const opening = messages[first - 1];
  if (opening?.role !== 'user') throw new ReleaseUnreadable(`${place}: no observation precedes the first reply`);
  const turns: ReleasedTurn[] = [];
  for (let i = first; i < messages.length; i += 2) {
    const [reply, answer] = [messages[i], messages[i + 1]];
    if (reply?.role !== 'assistant' || (answer && answer.role !== 'user'))
      throw new ReleaseUnreadable(`${place}: replies and observations do not alternate at message ${i}`);
    turns.push({ response: reply.content, observation: answer?.content ?? null, loss: reply.weight !== 0 });
  }
  return { line, kind: metadata.kind, alias: metadata.task.alias, firstObservation: opening.content, turns };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema names the line
  }
}

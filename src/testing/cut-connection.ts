import type { EventLog } from '../log/event-log.ts';
import { type Database, openDatabase } from '../postgres/database.ts';

/** What a process that was killed would have said. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/**
 * A database and a log as seen by a process that is killed at one point: every statement and every append is a step; at the
 * `killAt`-th all its connections break, and nothing it does afterwards has an effect. To Postgres this is what kill -9 is:
 * sockets that close.
 */
export interface Mortal {
  readonly database: Database;
  readonly log: EventLog;
  /** Steps taken so far. */
  steps(): number;
  dead(): boolean;
  close(): Promise<void>;
}

/**
 * @param moment whether the step itself still happens: `before`, it was never sent; `after`, it was carried out and its answer
 * lost.
 */
export async function openMortal(url: string, log: EventLog, killAt: number, moment: 'before' | 'after'): Promise<Mortal> {
  const database = await openDatabase(url, { max: 4 });
  const clients = new Set<Cuttable>();
  let steps = 0;
  let dead = false;

  function die(): Killed {
    dead = true;
    for (const client of clients) client.connection.stream.destroy();
    return new Killed(`killed at step ${steps}`);
  }
  async function step<T>(act: () => Promise<T>): Promise<T> {
    if (dead) throw new Killed('a dead process does nothing');
    steps++;
    if (steps === killAt && moment === 'before') throw die();
    const mine = steps;
    const result = await act();
    if (mine === killAt) throw die();
    return result;
  }

  const { pool } = database;
  const connect = pool.connect.bind(pool) as () => Promise<Cuttable>; // the form that kysely uses
  const mortalConnect = async (): Promise<unknown> => {
    if (dead) throw new Killed('a dead process opens nothing');
    const client = await connect();
    clients.add(client);
    return new Proxy(client, {
      get(target, property) {
        if (property === 'query') return (...given: unknown[]) => step(() => target.query(...given));
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  Object.defineProperty(pool, 'connect', { value: mortalConnect });
  return {
    database,
    log: { ...bound(log), append: (records) => step(() => log.append(records)) },
    steps: () => steps,
    dead: () => dead,
    close: () => database.close().catch(() => undefined), // its connections are broken
  };
}

/** The parts of a driver's client that are used here. */
interface Cuttable {
  query(...given: unknown[]): Promise<unknown>;
  readonly connection: { readonly stream: { destroy(): void } };
}

function bound(log: EventLog): EventLog {
  return {
    ensureTopics: (...given) => log.ensureTopics(...given),
    append: (...given) => log.append(...given),
    restore: (batch) => log.restore(batch),
    ...(log.whilePlaced && { whilePlaced: log.whilePlaced }),
    subscribe: (...given) => log.subscribe(...given),
    identity: () => log.identity(),
    ends: (...given) => log.ends(...given),
    extents: (...given) => log.extents(...given),
    unread: (...given) => log.unread(...given),
    close: async () => undefined,
  };
}

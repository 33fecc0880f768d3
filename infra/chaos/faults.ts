import type { NoDisk, OwnBroker, OwnPostgres, SmallDisk } from './own-servers.ts';

/** What is done to a training, and what it is. */
export const FAULTS = {
  kill: 'SIGKILL to a process of the group; a supervisor starts the next',
  pause: 'SIGSTOP, later SIGCONT',
  freeze: 'SIGSTOP to a process of any role until another one has done its work, then SIGCONT',
  'owner-ends': 'the process that started the server of the database ends, by SIGKILL or SIGTERM',
  cut: 'every connection to the database breaks, and new ones are refused for a moment',
  crash: 'SIGKILL to one process of the database: it ends all others and recovers from its log',
  statement: 'one connection breaks at the worst statement: a commit that is not answered, a COPY cut in half',
  postmaster: 'SIGKILL to the postmaster; started again on the same folder and port',
  broker: 'SIGKILL to the Kafka broker; started again on the same folder and port',
  disk: 'no room on the disk of the database, or on that of blobs and checkpoints; later there is',
  restore: 'the database is replaced by a copy taken some kills before',
  'records-deleted': 'at the end, half of a topic of Kafka is deleted: every process refuses to start, and says what to do',
} as const;
export type Fault = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as readonly Fault[]; // the keys of a constant

/** Those that everybody feels for seconds: placed one by one in a training. The others are drawn between the kills. */
export const HEAVY = ['postmaster', 'broker', 'disk', 'restore', 'freeze', 'owner-ends'] as const;
export type HeavyFault = (typeof HEAVY)[number];

/** What the laboratory can do to the servers of a training; null where they are not its own. */
export interface Means {
  readonly postgres: OwnPostgres | null;
  readonly broker: OwnBroker | null;
  readonly databaseDisk: SmallDisk | NoDisk;
  readonly homeDisk: SmallDisk | NoDisk;
}

/** Servers that are shared with others: processes and connections are all that can be disturbed. */
export const NO_MEANS: Means = {
  postgres: null,
  broker: null,
  databaseDisk: { reason: 'the server is not the own' },
  homeDisk: { reason: 'the folder is not on a disk of its own' },
};

/** Returns why a fault cannot be injected; null when it can. */
export function whyNot(fault: Fault, log: 'embedded' | 'kafka', means: Means): string | null {
  if ((fault === 'postmaster' || fault === 'owner-ends') && !means.postgres)
    return 'DATABASE_URL names a server that is not the own';
  if (fault === 'broker' && log === 'embedded') return 'the log lies in Postgres: see postmaster';
  if (fault === 'broker' && !means.broker) return 'KAFKA_BROKERS names brokers that are not the own';
  if (fault === 'records-deleted' && log === 'embedded') return 'the log is stored in Postgres, where no one deletes records';
  if (fault === 'restore' && log === 'embedded')
    return 'the log lies in the database: what was acknowledged behind the copy would be gone with it, and nothing else is promised';
  if (fault === 'disk') {
    if (!means.postgres) return 'DATABASE_URL names a server that is not the own';
    if ('reason' in means.databaseDisk) return means.databaseDisk.reason;
    if ('reason' in means.homeDisk) return means.homeDisk.reason;
  }
  return null;
}

import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { EmbeddedServerError, REMEDY } from './embedded-server-error.ts';

const run = promisify(execFile);

/** As which user the Postgres programs run: how a command line and its options are changed for it. */
export interface Account {
  /** The other user, when there is one: files that the programs own are given to it. */
  readonly ids: Ids | undefined;
  wrap(command: string, args: readonly string[]): Invocation;
}
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: {
    readonly uid?: number;
    readonly gid?: number;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  };
}
interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses the account: oneself, or for root the owner of the data folder, or the system user `postgres` (made when missing),
 * since Postgres refuses to run as root.
 * @param paths what that user must be able to reach; checked by trying.
 */
export async function chooseAccount(data: string, paths: readonly string[]): Promise<Account> {
  if (process.getuid?.() !== 0) return { ids: undefined, wrap: (command, args) => ({ command, args, options: OVERRIDES }) };
  const ids = (await ownerOf(data)) ?? (await idsOfPostgres()) ?? (await createPostgresUser());
  for (const account of [asUser(ids), asUserPastClosedFolders(ids)]) if (await reaches(account, paths)) return account;
  throw new EmbeddedServerError(
    'unreachable-folder',
    `Postgres cannot run as root, and its user (uid ${ids.uid}) cannot reach ${paths.join(' and ')}: ` +
      `open the folders above them (chmod o+x), run as an ordinary user, or ${REMEDY}`,
  );
}

// A fixed environment: PG* and LC_* variables of the caller must change neither the server nor the messages we read.
const OVERRIDES = { cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

function asUser(ids: Ids): Account {
  return { ids, wrap: (command, args) => ({ command, args, options: { ...ids, ...OVERRIDES } }) };
}

/**
 * Root's home is closed to others, and a project cloned there is the usual case in a container. The user then gets one
 * capability, to pass folder permissions (still far less than root): no_setuid_fixup makes access(2) honour it, which initdb
 * asks.
 */
function asUserPastClosedFolders(ids: Ids): Account {
  const become = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups', '--securebits=+no_setuid_fixup'];
  const allow = ['--inh-caps=-all,+dac_override', '--ambient-caps=+dac_override'];
  const prefix = [...become, ...allow, '--'];
  return { ids, wrap: (command, args) => ({ command: 'setpriv', args: [...prefix, command, ...args], options: OVERRIDES }) };
}

async function reaches(account: Account, paths: readonly string[]): Promise<boolean> {
  const script = 'for path do test -r "$path" && test -x "$path" || exit 1; done';
  const { command, args, options } = account.wrap('/bin/sh', ['-c', script, 'sh', ...paths]);
  return run(command, args, options).then(
    () => true,
    () => false,
  );
}

async function ownerOf(data: string): Promise<Ids | undefined> {
  const found = await stat(data).catch(() => undefined);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined;
}

async function idsOfPostgres(): Promise<Ids | undefined> {
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
    return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
  } catch {
    return undefined; // no such user
  }
}

async function createPostgresUser(): Promise<Ids> {
  const user = '--system --gid postgres --home-dir /nonexistent --shell /usr/sbin/nologin postgres'.split(' ');
  const made = run('groupadd', ['--force', '--system', 'postgres']).then(() => run('useradd', user));
  const cause: unknown = await made.then(
    () => undefined,
    (error: unknown) => error,
  );
  const ids = await idsOfPostgres(); // another process may have made it at the same moment
  if (ids) return ids;
  throw new EmbeddedServerError(
    'no-account',
    `Postgres cannot run as root, and making the system user 'postgres' failed (${String(cause)}); run as an ordinary user, or set DATABASE_URL`,
    cause,
  );
}

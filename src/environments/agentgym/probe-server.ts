import { closeRemote, createRemote, forkRemote, replayRemote, resetRemote, type Server, stepRemote } from './remote.ts';

/** What a server was seen to do; null where it has no such request. */
export interface ServerProbe {
  /** Equal actions after equal openings were answered alike. */
  readonly repeats: boolean;
  /** A copy answered as its original did. */
  readonly copies: boolean | null;
  /** A beginning that was played in one request was answered as one by one. */
  readonly replays: boolean | null;
}

const TASK = 0; // every server has it
const ACTIONS = ['inventory', 'look around', 'look']; // where none are listed: what is not understood is answered too

/**
 * Takes a few actions in the first task twice, in a copy, and in one request, and compares the answers. Creates environments of
 * its own and closes them. @throws EnvironmentError as the requests do.
 */
export async function probeServer(server: Server): Promise<ServerProbe> {
  const open = new Set<number>();
  const opened = (id: number): number => {
    open.add(id);
    return id;
  };
  const begin = async (): Promise<{ readonly id: number; readonly actions: readonly string[] }> => {
    const id = opened(await createRemote(server));
    const { actions } = await resetRemote(server, id, TASK, 'alone');
    return { id, actions: actions && actions.length > 0 ? actions.slice(0, ACTIONS.length) : ACTIONS };
  };
  let isOver = false; // some servers refuse an action then
  const said = async (id: number, action: string): Promise<string> => {
    const step = await stepRemote(server, id, action);
    if (step.kind === 'failed') return step.reason;
    isOver ||= step.done;
    return textOf(step);
  };

  try {
    const first = await begin();
    const second = await begin();
    const seen: string[] = [];
    let repeats = true;
    let copies: boolean | null = server.canFork ? true : null;
    for (const action of first.actions) {
      if (isOver) break;
      const copy = server.canFork ? opened(await forkRemote(server, first.id)) : null;
      const answer = await said(first.id, action);
      seen.push(answer);
      if (answer !== (await said(second.id, action))) repeats = false;
      if (copy !== null && (copy === first.id || answer !== (await said(copy, action)))) copies = false;
    }
    return { repeats, copies, replays: server.canReplay ? await replaysAs(seen, first.actions) : null };
  } finally {
    for (const id of open) await closeRemote(server, id);
  }

  async function replaysAs(seen: readonly string[], actions: readonly string[]): Promise<boolean> {
    const replayed = await replayRemote(server, TASK, actions, 'alone');
    if (replayed.kind === 'failed') return false;
    opened(replayed.id);
    return (
      replayed.steps.length >= seen.length && replayed.steps.every((step, i) => i >= seen.length || textOf(step) === seen[i])
    );
  }
}

function textOf({ observation, raw }: { readonly observation: string; readonly raw: number }): string {
  return `${observation}\n${raw}`;
}

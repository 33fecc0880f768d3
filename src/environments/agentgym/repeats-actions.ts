import { closeRemote, createRemote, resetRemote, type Server, stepRemote } from './remote.ts';

const TASK = 0; // every server has it
const ACTIONS = ['inventory', 'look around', 'look']; // where none are listed: what is not understood is answered too

/**
 * Takes a few actions in the first task twice and returns whether equal actions after equal openings were answered alike. Creates
 * environments of its own and closes them. @throws EnvironmentError as the requests do.
 */
export async function repeatsActions(server: Server): Promise<boolean> {
  const open: number[] = [];
  const begin = async () => {
    const id = await createRemote(server);
    open.push(id);
    const { actions } = await resetRemote(server, id, TASK, 'alone');
    return { id, actions: actions && actions.length > 0 ? actions.slice(0, ACTIONS.length) : ACTIONS };
  };
  try {
    const [first, second] = [await begin(), await begin()];
    for (const action of first.actions) {
      const [one, other] = [await stepRemote(server, first.id, action), await stepRemote(server, second.id, action)];
      if (JSON.stringify(one) !== JSON.stringify(other)) return false;
      if (one.kind === 'stepped' && one.done) break; // some servers refuse an action then
    }
    return true;
  } finally {
    for (const id of open) await closeRemote(server, id);
  }
}

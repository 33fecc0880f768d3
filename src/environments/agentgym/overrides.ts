import { z } from 'zod';
import { readRemote, type Server } from './remote.ts';
import type { Overrides } from './snap-action.ts';

/** The routes of the patched ScienceWorld server (agent-r §4.4) that snapping needs; stock AgentGym has none of them. */
export const OVERRIDES_ROUTES = ['/valid_action_object_combinations', '/look_around', '/inventory'] as const;

const [VALID, LOOK, CARRIED] = OVERRIDES_ROUTES;
const combinations = z.object({ get_valid_action_object_combinations: z.array(z.string()) });
const looked = z.object({ look_around: z.string() });
const carried = z.object({ inventory: z.string() });

/** Reads what ScienceWorld offers in the agent's state. @throws EnvironmentError as any read. */
export async function readOverrides(server: Server, id: number): Promise<Overrides> {
  return {
    validActions: (await readRemote(server, id, VALID, combinations)).get_valid_action_object_combinations,
    look: (await readRemote(server, id, LOOK, looked)).look_around,
    inventory: (await readRemote(server, id, CARRIED, carried)).inventory,
  };
}

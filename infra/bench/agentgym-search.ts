import { openTextCraft } from '../../src/environments/textcraft/textcraft.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { chooseTasks } from '../../src/usecases/collect/choose-tasks.ts';
import { type Searched, type SearchWork, searchFromOutside } from './agentgym-search-client.ts';
import { type Asked, startCountingServer } from './agentgym-search-server.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage } from './stage.ts';

const SEARCH: Record<Size, Pick<SearchWork, 'iterations' | 'candidates' | 'maxDepth'> & { readonly tasks: number }> = {
  full: { tasks: 8, iterations: 20, candidates: 4, maxDepth: 5 },
  quick: { tasks: 2, iterations: 2, candidates: 2, maxDepth: 3 },
};
const MOST_STEPS = 0.5; // of the steps of the published program
const MOST_STEPS_COPYING = 0.15;
const MOST_WALL = 0.5;
const MOST_CPU = 0.7;

/**
 * Measures what a search of TextCraft behind AgentGym's protocol costs: environment steps, time, and CPU of the client. The
 * baseline is the way of Agent-R's program, which starts the task again for every reply, with the same replies on the same tree.
 */
export async function benchAgentGymSearch(stage: Stage): Promise<Outcome> {
  const { url: databaseUrl } = await stage.database();
  await (await stage.embeddedLog()).ensureTopics(TOPICS, 12);
  const server = await startCountingServer();
  stage.closing(() => server.close());
  const { tasks, ...sizes } = SEARCH[stage.size];
  const textcraft = await openTextCraft();
  const aliases = (await chooseTasks(textcraft, tasks, 0)).map(({ alias }) => alias);
  const search = async (rules: SearchWork['rules'], url: string): Promise<Searched & Asked> => {
    await server.asked();
    const searched = await searchFromOutside({ rules, url, databaseUrl, aliases, ...sizes });
    return { ...searched, ...(await server.asked()) };
  };
  const published = await search('published', server.plain);
  const own = await search('own', server.plain);
  const compat = await search('agent-r', server.plain);
  const copied = await search('own', server.copying);
  for (const { nodes } of [own, copied])
    if (nodes !== published.nodes)
      throw new Error(`the search grew ${nodes} nodes, where the published program grows ${published.nodes}`);
  return {
    bench: 'agentgym-search',
    figures: [
      ...figuresOf('server that copies', copied, published, MOST_STEPS_COPYING),
      ...figuresOf('plain server', own, published, MOST_STEPS),
      ...figuresOf("plain server, Agent-R's rules", compat, published, null),
    ],
    conditions: { ...stage.conditions(), tasks, ...sizes, nodes: own.nodes, 'nodes by the rules of Agent-R': compat.nodes },
  };
}

function figuresOf(name: string, ours: Searched & Asked, published: Searched & Asked, steps: number | null): readonly Figure[] {
  const share = (most: number | null) => (most === null ? null : ({ kind: 'share', most } as const));
  const figure = (what: string, unit: Figure['unit'], of: (run: Searched & Asked) => number, most: number | null): Figure => ({
    name: `${name}: ${what}`,
    value: of(ours),
    unit,
    baseline: { name: "as Agent-R's program", value: of(published), unit },
    goal: steps === null ? null : share(most),
  });
  return [
    figure('environment steps', 'steps', (run) => run.steps, steps),
    figure('requests', 'steps', (run) => run.requests, null),
    figure('time', 'ms', (run) => run.wallMs, MOST_WALL),
    figure('CPU of the client', 'ms', (run) => run.cpuMs, MOST_CPU),
    figure('CPU of the server', 'ms', (run) => run.serverCpuMs, null),
  ];
}

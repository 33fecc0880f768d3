import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type Published, runPublished } from '../published/published-programs.ts';
import { startTieServer } from '../published/tie-server.ts';
import type { Searched } from './measured-search.ts';

const measured = z.object({ wall: z.number(), cpu: z.number() });
interface Node {
  readonly children: readonly Node[];
}

/**
 * Searches tasks by Agent-R's own program, one after another as it does, and sums up what its searches took; the start of the
 * program and of Python are left out. Ties go to the first child, as in our own search, so that both grow the same trees.
 */
export async function searchPublished(
  published: Published,
  { url, model, aliases, ...sizes }: { url: string; model: string; aliases: readonly string[] } & Sizes,
): Promise<Searched> {
  const ties = await startTieServer(() => 0);
  const folder = await mkdtemp(join(tmpdir(), 'agent-r-'));
  const results = join(folder, 'mcts_result', 'textcraft', 'scripted');
  const env = {
    MODEL_SERVER: model,
    TIES: ties.url,
    MODEL_DIR: 'scripted',
    MODEL_NAME: 'scripted',
    MAX_TOKEN_LENGTH: '1000000000',
    ITERA: String(sizes.iterations),
    N_GEN: String(sizes.candidates),
    MAX_DEPTH: String(sizes.maxDepth),
    ALPHA: '0.5',
    BETA: '0.2',
    MEASURED: join(folder, 'measured.json'),
  };
  let [nodes, wallMs, cpuMs] = [0, 0, 0];
  try {
    // The program reads its list of tasks from a path below the folder where it runs.
    await symlink(join(published.agentR, 'mcts_utils'), join(folder, 'mcts_utils'));
    for (const alias of aliases) {
      const range = ['--min', alias, '--max', String(Number(alias) + 1)];
      await runPublished(
        published,
        'mcts_collection.py',
        ['--env_server_base', url, '--model_name', 'scripted', ...range],
        env,
        folder,
      );
      const { wall, cpu } = measured.parse(JSON.parse(await readFile(env.MEASURED, 'utf8')));
      wallMs += wall * 1_000;
      cpuMs += cpu * 1_000;
      nodes += nodesBelow(JSON.parse(await readFile(join(results, `search_results_${alias}.json`), 'utf8')));
    }
    return { nodes, wallMs, cpuMs };
  } finally {
    await rm(folder, { recursive: true, force: true });
    await ties.close();
  }
}

export interface Sizes {
  readonly iterations: number;
  readonly candidates: number;
  readonly maxDepth: number;
}

function nodesBelow({ children }: Node): number {
  return children.reduce((sum, child) => sum + 1 + nodesBelow(child), 0);
}

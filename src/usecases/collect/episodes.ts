import type { Environment } from '../../environments/environment.ts';
import type { GrowingTree } from './growing-tree.ts';
import { pathTo, restoreEnvironment } from './restore-environment.ts';

/**
 * The running episodes of a search. Where an environment can be cloned, the episode at every open node is kept, so that a new
 * node costs one environment step; where it cannot, or the episode was let go, it is brought there again by reset and replay,
 * every observation compared.
 */
export interface Episodes {
  readonly tree: GrowingTree;
  /** Step id → the episode at that step; the oldest first. */
  readonly kept: Map<string, Environment>;
}

const KEPT = 1_024; // episodes: a TextCraft one is a map of counts; the paper's search, 8 × 20 × 4, opens at most 672 nodes

export function openEpisodes(tree: GrowingTree): Episodes {
  return { tree, kept: new Map() };
}

/**
 * Returns an episode at a node that belongs to the caller, or null when the environment did not repeat what is
 * recorded.
 */
export async function episodeAt({ tree, kept }: Episodes, stepId: string): Promise<Environment | null> {
  const there = kept.get(stepId);
  if (there?.clone) return there.clone();
  const environment = await tree.kind.create();
  try {
    const restored = await restoreEnvironment(tree, environment, pathTo(tree, stepId), stepId);
    if (restored.kind === 'same') return environment;
  } catch (error) {
    await environment.close();
    throw error;
  }
  await environment.close();
  return null;
}

/** Keeps an episode for expansions at its node, where copies of it can be made; otherwise closes it. */
export async function keepEpisode({ kept }: Episodes, stepId: string, environment: Environment): Promise<void> {
  if (!environment.clone) return environment.close();
  kept.set(stepId, environment);
  for (const [oldest, episode] of kept) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
    await episode.close();
  }
}

/** Lets go of the episode at a node that is expanded: nobody starts there again. */
export async function releaseEpisode({ kept }: Episodes, stepId: string): Promise<void> {
  const episode = kept.get(stepId);
  kept.delete(stepId);
  await episode?.close();
}

export async function closeEpisodes({ kept }: Episodes): Promise<void> {
  for (const episode of kept.values()) await episode.close();
  kept.clear();
}

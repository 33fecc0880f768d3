import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import type { EpisodePath } from '../../environments/replay-at-once.ts';
import { anotherWorld, rebuildEnvironment } from '../../environments/surviving.ts';
import { picturesOf } from '../../environments/with-pictures.ts';

/** Where actions lead to from the opening of a task. */
export interface Place {
  readonly action: string;
  readonly parent: Place | null;
  /** What the last action answered; null at the opening, and where nobody has been yet. */
  result: StepResult | null;
  /** An episode that is here, while more than one way goes on. */
  kept: Environment | null;
  readonly ways: Map<string, Place>;
}

/** Episodes of one task in which equal beginnings are executed once. */
export interface SharedEpisodes {
  readonly opening: Place;
  /** Takes an action at a place, unless it was taken there before. */
  step(place: Place, action: string, signal: AbortSignal): Promise<{ readonly place: Place; readonly result: StepResult }>;
  close(): Promise<void>;
}

const KEPT = 32; // episodes of one tree: a server behind them has so many at once

/**
 * Opens a task whose ways are known before: where they part, a copy of the episode is kept, so that each action of all ways is
 * executed once; one that cannot be copied is played again from the opening there. Takes a begun environment over and closes it.
 */
export function shareEpisodes(
  kind: EnvironmentKind,
  begun: Environment,
  begin: Omit<EpisodePath, 'steps'>,
  ways: readonly (readonly string[])[],
): SharedEpisodes {
  const opening = placeAt(null, '');
  for (const actions of ways) {
    let place = opening;
    for (const action of actions) place = wayFrom(place, action);
  }
  let live: { readonly place: Place; readonly environment: Environment } | null = { place: opening, environment: begun };
  const kept = new Set<Place>();

  async function drop(place: Place): Promise<void> {
    kept.delete(place);
    const { kept: environment } = place;
    place.kept = null;
    await environment?.close();
  }

  async function keep(place: Place, environment: Environment): Promise<void> {
    if (!environment.clone || place.kept !== null || untaken(place) < 2) return;
    place.kept = await environment.clone();
    kept.add(place);
    for (const oldest of kept.size > KEPT ? [...kept].slice(0, kept.size - KEPT) : []) await drop(oldest);
  }

  /** Returns an episode at a place that the caller moves on and closes. */
  async function episodeAt(place: Place): Promise<Environment> {
    if (live?.place === place) {
      const { environment } = live;
      live = null;
      return environment;
    }
    await live?.environment.close();
    live = null;
    const copy = await place.kept?.clone?.();
    if (copy) return copy;
    const rebuilt = await rebuildEnvironment(kind, { ...begin, steps: stepsTo(place) });
    if (rebuilt.kind === 'diverged') throw anotherWorld(begin, rebuilt);
    return rebuilt.environment;
  }

  return {
    opening,
    async step(at, action, signal) {
      const place = wayFrom(at, action);
      if (place.result) return { place, result: place.result };
      const environment = await episodeAt(at);
      live = { place, environment };
      try {
        await keep(at, environment);
        place.result = await environment.step(action, signal);
      } catch (error) {
        live = null; // whether the action was executed is not known
        await environment.close();
        throw error;
      }
      if (at.kept && untaken(at) === 0) await drop(at);
      return { place, result: place.result };
    },
    async close() {
      for (const place of [...kept]) await drop(place);
      await live?.environment.close();
      live = null;
    },
  };
}

function placeAt(parent: Place | null, action: string): Place {
  return { parent, action, result: null, kept: null, ways: new Map() };
}

function wayFrom(place: Place, action: string): Place {
  let next = place.ways.get(action);
  if (!next) {
    next = placeAt(place, action);
    place.ways.set(action, next);
  }
  return next;
}

function stepsTo(place: Place): EpisodePath['steps'] {
  const steps = [];
  for (let at = place; at.parent; at = at.parent) {
    const { observation, pictures } = at.result ?? { observation: '' };
    steps.unshift({ action: at.action, observation, pictures: pictures && picturesOf({ pictures }) });
  }
  return steps;
}

function untaken({ ways }: Place): number {
  let count = 0;
  for (const { result } of ways.values()) if (!result) count++;
  return count;
}

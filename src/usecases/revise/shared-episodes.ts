import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import type { EpisodePath } from '../../environments/replay-at-once.ts';
import { type RecordedObservation, sameObservation } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { rebuildEnvironment, worldChanged } from '../../environments/with-restart.ts';

/** Where actions lead to from the opening of a task. */
interface Place {
  readonly action: string;
  readonly parent: Place | null;
  /** What the last action answered; null at the opening, and where nobody has been yet. */
  result: StepResult | null;
  /** Somebody is taking the last action. */
  pending: Promise<void> | null;
  /** Who takes it has an episode, or is about to get one. */
  isUnderWay: boolean;
  /** An episode that is here, while more than one way goes on. */
  kept: Kept | null;
  readonly ways: Map<string, Place>;
}

interface Kept {
  readonly environment: Promise<Environment>;
  /** Who copies it now. */
  readers: number;
}

/** An episode of one walk, and the turn that it takes. */
interface Held {
  readonly environment: Environment;
  readonly endTurn: () => void;
}

/** Somebody who takes the actions of a way, one after the other. */
export interface Walk {
  /** Takes the next action, unless it was taken on the same way before. @throws EnvironmentError as steps do. */
  step(signal: AbortSignal): Promise<StepResult>;
  close(): Promise<void>;
}

/** Episodes of one task in which equal beginnings are executed once, by whichever walk comes there first. */
export interface SharedEpisodes {
  walk(way: readonly string[]): Walk;
  /** To be called when all walks are closed. */
  close(): Promise<void>;
}

interface SharedTask {
  readonly kind: EnvironmentKind;
  /** An environment that has begun the task: it is taken over, with its turn. */
  readonly begun: Held;
  readonly begin: Omit<EpisodePath, 'steps'>;
  /** What will be walked, as far as it is known before. */
  readonly ways: readonly (readonly string[])[];
  /** Who has an episode takes a turn. */
  readonly slots: Slots;
}

const KEPT = 32; // episodes of one tree: a server behind them has so many at once

/**
 * Opens a task whose ways are known before, for several walks at a time. Where ways part, a copy of the episode is kept, so that
 * each action of all ways is executed once; one that cannot be copied is played again from the opening there. Where the
 * environment plays a beginning in one request, a way from the opening to its end is such a request, and nothing is copied: a
 * request costs more than the steps in it. Who waits for another's answer has no turn, so that none waits for
 * ever.
 */
export function shareEpisodes({ kind, begun, begin, ways, slots }: SharedTask): SharedEpisodes {
  const opening = placeAt(null, '');
  for (const actions of ways) {
    let place = opening;
    for (const action of actions) place = wayFrom(place, action);
  }
  const canReplay = begun.environment.replay !== undefined;
  const canCopy = begun.environment.clone !== undefined && !canReplay;
  let spare: Held | null = begun; // at the opening, until the first walk takes it
  const kept = new Set<Place>();

  async function drop(place: Place): Promise<void> {
    const { kept: episode } = place;
    kept.delete(place);
    place.kept = null;
    await (await episode?.environment.catch(() => null))?.close(); // who made it throws why it is not there
  }

  async function keep(place: Place, environment: Promise<Environment>): Promise<void> {
    place.kept = { environment, readers: 0 };
    kept.add(place);
    await environment;
    for (const oldest of kept) {
      if (kept.size <= KEPT) return;
      if (oldest.kept?.readers === 0 && oldest !== place) await drop(oldest);
    }
  }

  async function rebuild(place: Place): Promise<Environment> {
    const rebuilt = await rebuildEnvironment(kind, { ...begin, steps: stepsTo(place) });
    if (rebuilt.kind === 'diverged') throw worldChanged(begin, rebuilt);
    return rebuilt.environment;
  }

  /** Returns an episode at a place; the caller has a turn. */
  async function episodeAt(place: Place): Promise<Environment> {
    if (!place.kept && (untaken(place) === 0 || !canCopy)) return rebuild(place);
    if (!place.kept) await keep(place, rebuild(place));
    const source = place.kept;
    if (!source) return rebuild(place); // it was too old to be kept
    source.readers++;
    try {
      const copy = await (await source.environment).clone?.();
      return copy ?? (await rebuild(place));
    } finally {
      source.readers--;
    }
  }

  /** Returns an episode at a place, for the way to the next one. */
  async function arrive(place: Place, next: Place, signal: AbortSignal): Promise<Held> {
    if (place === opening && spare) {
      const first = spare;
      spare = null;
      return first;
    }
    const endTurn = await slots.take();
    try {
      signal.throwIfAborted();
      next.isUnderWay = true;
      return { environment: await episodeAt(place), endTurn };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  /** Executes an action in an episode at a place. */
  async function take(there: Held, at: Place, next: Place, signal: AbortSignal): Promise<void> {
    const { environment } = there;
    next.isUnderWay = true;
    if (!at.kept && canCopy && environment.clone && untaken(at) > 0) await keep(at, environment.clone());
    next.result = await environment.step(next.action, signal);
    if (at.kept?.readers === 0 && untaken(at) === 0) await drop(at);
  }

  /**
   * Begins an episode and plays a way in it to its end, in one request. What ends it sooner leaves the rest unknown. Null where
   * it is answered otherwise than before: who goes there step by step finds out what differs.
   */
  async function replay(places: readonly Place[], signal: AbortSignal): Promise<Held | null> {
    const endTurn = await slots.take();
    let environment: Environment | null = null;
    try {
      signal.throwIfAborted();
      environment = await kind.create();
      const seen = await environment.replay?.(
        begin.task,
        places.map(({ action }) => action),
      );
      const isSame =
        seen !== undefined &&
        sameObservation(seen.opening, { observation: begin.firstObservation, pictures: begin.firstPictures }) &&
        places.every(({ result }, i) => result === null || sameObservation(seen.steps[i] ?? NOTHING, recordedOf(result)));
      if (isSame) {
        for (const [i, place] of places.entries()) place.result ??= seen.steps[i] ?? null;
        return { environment, endTurn };
      }
    } catch (error) {
      await environment?.close();
      endTurn();
      throw error;
    }
    await environment.close();
    endTurn();
    return null;
  }

  function walk(way: readonly string[]): Walk {
    let at = opening;
    let taken = 0;
    let held: Held | null = null; // at the place, where this walk has executed the last action

    async function leave(): Promise<void> {
      const was = held;
      held = null;
      await was?.environment.close();
      was?.endTurn();
    }

    async function go(next: Place, signal: AbortSignal): Promise<void> {
      const there = held ?? (await arrive(at, next, signal));
      held = there;
      try {
        await take(there, at, next, signal);
      } catch (error) {
        await leave(); // whether the action was executed is not known
        throw error;
      }
    }

    /** Marks every place to the end of the way, so that nobody else goes there meanwhile. */
    async function goToTheEnd(next: Place, signal: AbortSignal): Promise<void> {
      const places = [...pathTo(next)];
      for (let last = next; places.length < way.length; places.push(last)) last = wayFrom(last, way[places.length] ?? '');
      const isReplayed = replay(places, signal);
      const done = isReplayed.then(() => undefined);
      done.catch(() => undefined); // this walk throws it
      for (const place of places) if (place !== next && !place.result) place.pending = done;
      const replayed = await isReplayed.finally(() => {
        for (const place of places) if (place !== next && !place.result) place.pending = null;
      });
      held = replayed;
      await leave();
      if (!next.result) await go(next, signal);
    }

    return {
      async step(signal) {
        const next = wayFrom(at, way[taken] ?? '');
        if (next.result ?? next.pending) await leave();
        if (!next.result && next.pending) await next.pending;
        if (!next.result) {
          const isFar = canReplay && held === null && !(at === opening && spare);
          next.pending = Promise.resolve().then(() => (isFar ? goToTheEnd(next, signal) : go(next, signal)));
          await next.pending;
        }
        if (!next.result) throw new TypeError('an action that was taken has a result');
        at = next;
        taken++;
        return next.result;
      },
      close: leave,
    };
  }

  return {
    walk,
    async close() {
      for (const place of [...kept]) await drop(place);
      await spare?.environment.close();
      spare?.endTurn();
      spare = null;
    },
  };
}

function placeAt(parent: Place | null, action: string): Place {
  return { parent, action, result: null, pending: null, isUnderWay: false, kept: null, ways: new Map() };
}

function wayFrom(place: Place, action: string): Place {
  let next = place.ways.get(action);
  if (!next) {
    next = placeAt(place, action);
    place.ways.set(action, next);
  }
  return next;
}

/** Returns the places from the first action to a place. */
function pathTo(place: Place): Place[] {
  const path: Place[] = [];
  for (let at = place; at.parent; at = at.parent) path.unshift(at);
  return path;
}

function stepsTo(place: Place): EpisodePath['steps'] {
  return pathTo(place).map(({ action, result }) => ({ action, ...recordedOf(result ?? NOTHING) }));
}

const NOTHING = { observation: '' };

function recordedOf({ observation, pictures }: Pick<StepResult, 'observation' | 'pictures'>): RecordedObservation {
  return { observation, pictures: pictures && picturesOf({ pictures }) };
}

/** Counts the ways on from a place for which an episode will be needed there. */
function untaken({ ways }: Place): number {
  let count = 0;
  for (const { result, isUnderWay } of ways.values()) if (!result && !isUnderWay) count++;
  return count;
}

/** Lets at most so many take a turn at a time; the others wait in the order in which they came. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a turn. @returns what ends it, to be called once. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((enter) => this.#waiting.push(enter));
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }
}

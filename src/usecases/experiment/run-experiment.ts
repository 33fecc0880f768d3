import type { Platform } from '../../platform/open-platform.ts';
import {
  readStageByKey,
  readStages,
  type StageOutput,
  type StageRecord,
} from '../../projections/experiment-stages/read-stages.ts';
import { whileHeld } from '../collect/hold-run.ts';
import type { PlannedArm, PlannedStage } from './declaration/experiment.ts';
import { keyOfStage, openFingerprints, seedOf } from './key-of-stage.ts';
import { type DeclaredExperiment, recordDeclaration, recordStage } from './record-experiment.ts';
import { runStage } from './stages/run-stage.ts';
import { settle } from './stages/stage-work.ts';

/** A stage in an arm and a repetition. */
export interface StagePlace {
  readonly arm: string;
  readonly seed: number;
  readonly stage: string;
}

/**
 * How a stage came to be where it is. `kept`: this experiment had completed it before. `reused`: another arm or experiment had.
 * `skipped`: a stage that it uses failed, or the experiment stops at a failure.
 */
export interface StageState extends StagePlace {
  readonly state: 'run' | 'kept' | 'reused' | 'failed' | 'skipped';
  readonly message: string;
}

export interface ExperimentRun {
  readonly declared: DeclaredExperiment;
  readonly signal: AbortSignal;
  readonly onBegin?: (place: StagePlace) => void;
  readonly onProgress?: (place: StagePlace, text: string) => void;
  readonly onStage?: (state: StageState, done: number, planned: number) => void;
}

export interface ExperimentResult {
  readonly state: 'completed' | 'failed' | 'stopped';
  readonly stages: readonly StageState[];
}

/**
 * Runs an experiment: every stage of every arm in every repetition, each behind those that it uses, and records how each ended.
 * A stage of the same key is done once, whichever arm or experiment did it. Begun again after a kill or a failure it does what is
 * missing, and ends with the same outcomes. A projector must be running.
 * @throws RunBusy while another process runs the same experiment; what is not the failure of a stage, as a database that is away.
 */
export async function runExperiment(platform: Platform, run: ExperimentRun): Promise<ExperimentResult> {
  const { experimentId } = run.declared;
  return whileHeld(platform, experimentId, run.signal, async (signal) => {
    await settle(platform, signal);
    await recordDeclaration(platform, run.declared);
    await settle(platform, signal);
    const states: StageState[] = [];
    const { arms, seeds, onFailure } = run.declared.experiment;
    const planned = seeds.length * arms.reduce((sum, { stages }) => sum + stages.length, 0);
    const before = await readStages(platform.database.db, [experimentId]);
    const working: Working = { platform, run: { ...run, signal }, before, done: new Map(), fingerprintsOf: openFingerprints() };
    for (const seed of seeds)
      for (const arm of arms)
        for await (const state of runArm(working, arm, seed, () => onFailure === 'stop' && states.some(isFailure))) {
          states.push(state);
          run.onStage?.(state, states.length, planned);
        }
    if (signal.aborted) return { state: 'stopped', stages: states };
    return { state: states.some(isFailure) ? 'failed' : 'completed', stages: states };
  });
}

interface Working {
  readonly platform: Platform;
  readonly run: ExperimentRun;
  /** The ends of stages that the record held when this process began. */
  readonly before: readonly StageRecord[];
  /** What this process came to, by key: an output, or why it failed. */
  readonly done: Map<string, StageOutput | Error>;
  readonly fingerprintsOf: ReturnType<typeof openFingerprints>;
}

function isFailure({ state }: StageState): boolean {
  return state === 'failed';
}

async function* runArm(working: Working, arm: PlannedArm, seed: number, isOver: () => boolean): AsyncGenerator<StageState> {
  const outputs = new Map<string, StageOutput>();
  for (const stage of arm.stages) {
    if (working.run.signal.aborted) return;
    const place = { arm: arm.name, seed, stage: stage.name };
    const missing = Object.values(stage.uses).find((used) => !outputs.has(used));
    if (missing !== undefined || isOver()) {
      const message = missing === undefined ? 'the experiment stops at a failure' : `it uses ${missing}, which has no outcome`;
      yield { ...place, state: 'skipped', message };
      continue;
    }
    const ended = await endOf(working, stage, place, outputs);
    if (ended === null) return; // the signal came
    if (ended.output) outputs.set(stage.name, ended.output);
    yield { ...place, state: ended.state, message: ended.message };
  }
}

interface StageEnd extends Pick<StageState, 'state' | 'message'> {
  readonly output: StageOutput | null;
}

/** Brings one stage to its end, by doing it or by what is on record. Null when the signal came. */
async function endOf(
  { platform, run, before, done, fingerprintsOf }: Working,
  stage: PlannedStage,
  place: StagePlace,
  outputs: ReadonlyMap<string, StageOutput>,
): Promise<StageEnd | null> {
  const { experimentId, experiment } = run.declared;
  const { signal } = run;
  const used: Record<string, StageOutput> = {};
  for (const [option, name] of Object.entries(stage.uses)) {
    const output = outputs.get(name);
    if (output) used[option] = output; // there is one for each: see `missing`
  }
  const seed = seedOf(stage, place.seed);
  const about = { experimentId, ...place, kind: stage.kind };
  let key = '';
  try {
    key = await keyOfStage(stage, seed, used, fingerprintsOf);
    const own = before.find((each) => each.key === key && each.outcome === 'completed' && isAt(each, place));
    if (own?.output) return { state: 'kept', message: '', output: own.output };
    const known = done.get(key);
    if (known instanceof Error) throw known;
    const recorded = await readStageByKey(platform.database.db, key);
    if (recorded?.output) {
      const { output, experimentId: reusedFrom } = recorded;
      await recordStage(platform, { ...about, key, outcome: 'completed', message: '', reusedFrom, output });
      await settle(platform, signal);
      return { state: 'reused', message: reusedFrom === experimentId ? '' : reusedFrom, output };
    }
    run.onBegin?.(place);
    const { concurrency } = experiment;
    const progress = (text: string) => run.onProgress?.(place, text);
    const output = await runStage({ ...{ platform, experimentId, stage, key, seed, used, concurrency, signal, progress } });
    await recordStage(platform, { ...about, key, outcome: 'completed', message: '', reusedFrom: null, output });
    await settle(platform, signal);
    done.set(key, output);
    return { state: 'run', message: '', output };
  } catch (error) {
    if (signal.aborted) return null;
    if (key !== '') done.set(key, error instanceof Error ? error : new Error(String(error)));
    const message = error instanceof Error ? error.message : String(error);
    // where the record cannot be written this throws in its turn: no stage failed then, the platform did
    await recordStage(platform, {
      ...about,
      ...{ key: key === '' ? '0'.repeat(64) : key, outcome: 'failed', message, reusedFrom: null, output: null },
    });
    await settle(platform, signal);
    return { state: 'failed', message, output: null };
  }
}

function isAt(record: StageRecord, { arm, seed, stage }: StagePlace): boolean {
  return record.arm === arm && record.seed === seed && record.stage === stage;
}

import type { DataOf } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import {
  readStageByKey,
  readStages,
  type StageOutput,
  type StageRecord,
} from '../../projections/experiment-stages/read-stages.ts';
import { isOutage } from '../../projections/transient-fault.ts';
import { RunBusy, whileHeld } from '../collect/hold-run.ts';
import type { PlannedArm, PlannedStage } from './declaration/experiment.ts';
import { keyOfStage, openFingerprints, seedOf } from './key-of-stage.ts';
import { type DeclaredExperiment, recordDeclaration, recordStage } from './record-experiment.ts';
import { openTurns, type StageWork, settle, type Turns } from './stages/stage-work.ts';
import { stageFormOf } from './stages/stages.ts';

/** A stage in an arm and a repetition. */
export interface StagePlace {
  readonly arm: string;
  readonly seed: number;
  readonly stage: string;
}

/**
 * How a stage came to be where it is. `kept`: this experiment had completed it before. `reused`: another arm or experiment had.
 * `skipped`: a stage that it uses failed.
 */
export interface StageState extends StagePlace {
  readonly state: 'run' | 'kept' | 'reused' | 'failed' | 'skipped';
  readonly message: string;
  /** That its file was gone and written again, or why it could not be; left out where it is there. */
  readonly restored?: string;
}

export interface ExperimentRun {
  readonly declared: DeclaredExperiment;
  readonly signal: AbortSignal;
  /** Arms, and repetitions of them, at the same time; 1 when left out. What they come to does not depend on it. */
  readonly parallel?: number;
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
    const { arms, seeds } = run.declared.experiment;
    const walks = seeds.flatMap((seed) => arms.map((arm) => ({ arm, seed, states: [] as StageState[] })));
    const states = () => walks.flatMap((walk) => walk.states);
    const planned = seeds.length * arms.reduce((sum, { stages }) => sum + stages.length, 0);
    const broken = new AbortController(); // what fails here is not a stage: the other arms end too
    const working: Working = {
      platform,
      run: { ...run, signal: AbortSignal.any([signal, broken.signal]) },
      before: await readStages(platform.database.db, [experimentId]),
      failed: new Map(),
      fingerprintsOf: openFingerprints(),
      turns: openTurns(),
    };
    const waiting = [...walks];
    const walkOn = async () => {
      for (let walk = waiting.shift(); walk !== undefined; walk = waiting.shift())
        for await (const state of runArm(working, walk.arm, walk.seed)) {
          walk.states.push(state);
          run.onStage?.(state, states().length, planned);
        }
    };
    const walkers = Array.from({ length: Math.min(run.parallel ?? 1, walks.length) }, () =>
      walkOn().catch((error: unknown) => {
        if (!signal.aborted) broken.abort(error);
      }),
    );
    await Promise.all(walkers);
    broken.signal.throwIfAborted();
    if (signal.aborted) return { state: 'stopped', stages: states() };
    return { state: states().some(({ state }) => state === 'failed') ? 'failed' : 'completed', stages: states() };
  });
}

interface Working {
  readonly platform: Platform;
  readonly run: ExperimentRun;
  /** The ends of stages that the record held when this process began. */
  readonly before: readonly StageRecord[];
  /** Why stages failed in this process, by key: another arm that needs the same is not tried again. */
  readonly failed: Map<string, unknown>;
  readonly fingerprintsOf: ReturnType<typeof openFingerprints>;
  readonly turns: Turns;
}

async function* runArm(working: Working, arm: PlannedArm, seed: number): AsyncGenerator<StageState> {
  const outputs = new Map<string, StageOutput>();
  for (const stage of arm.stages) {
    if (working.run.signal.aborted) return;
    const place = { arm: arm.name, seed, stage: stage.name };
    const missing = Object.values(stage.uses).find((used) => !outputs.has(used));
    if (missing !== undefined) {
      yield { ...place, state: 'skipped', message: `it uses ${missing}, which has no outcome` };
      continue;
    }
    const ended = await endOf(working, stage, place, outputs);
    if (ended === null) return; // the signal came
    if (ended.output) outputs.set(stage.name, ended.output);
    const { output: _, ...end } = ended;
    yield { ...place, ...end };
  }
}

interface StageEnd extends Pick<StageState, 'state' | 'message' | 'restored'> {
  readonly output: StageOutput | null;
}

/** Brings one stage to its end, by doing it or by what is on record. Null when the signal came. */
async function endOf(
  working: Working,
  stage: PlannedStage,
  place: StagePlace,
  outputs: ReadonlyMap<string, StageOutput>,
): Promise<StageEnd | null> {
  const { run, before, failed, fingerprintsOf, turns } = working;
  const used: Record<string, StageOutput> = {};
  for (const [option, name] of Object.entries(stage.uses)) {
    const output = outputs.get(name);
    if (output) used[option] = output; // there is one for each: see `missing`
  }
  const asked: Asked = { stage, place, used, seed: seedOf(stage, place.seed), key: UNKNOWN_KEY };
  try {
    const key = await keyOfStage(stage, asked.seed, used, fingerprintsOf);
    const own = before.find((each) => each.key === key && each.outcome === 'completed' && isAt(each, place));
    const { output } = own ?? {};
    if (output) return { state: 'kept', message: '', ...(await restored(working, { ...asked, key }, output)), output };
    return await turns(`stage ${key}`, async () => {
      if (failed.has(key)) throw new StageFailed(key, failed.get(key));
      try {
        return await takeOrDo(working, { ...asked, key });
      } catch (error) {
        failed.set(key, error);
        throw new StageFailed(key, error);
      }
    });
  } catch (error) {
    if (run.signal.aborted) return null;
    const cause = error instanceof StageFailed ? error.cause : error;
    if (isOutage(cause) || cause instanceof RunBusy) throw cause; // the stage did not fail, and goes on
    const message = error instanceof Error ? error.message : String(error);
    const key = error instanceof StageFailed ? error.key : UNKNOWN_KEY;
    // where the record cannot be written this throws in its turn: no stage failed then, the platform did
    await keepEnd(working, { ...asked, key }, { outcome: 'failed', message, reusedFrom: null, output: null });
    return { state: 'failed', message, output: null };
  }
}

const UNKNOWN_KEY = '0'.repeat(64); // of a stage whose environment or policy could not be opened

/** Why a stage of this key failed, in this arm or in another one. */
class StageFailed extends Error {
  override readonly name = 'StageFailed';
  readonly key: string;
  constructor(key: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.key = key;
  }
}

interface Asked {
  readonly stage: PlannedStage;
  readonly place: StagePlace;
  readonly used: Readonly<Record<string, StageOutput>>;
  readonly seed: number;
  readonly key: string;
}

/** Takes the outcome that is on record under a key, whichever experiment it is of, or does the stage. */
async function takeOrDo(working: Working, asked: Asked): Promise<StageEnd> {
  const { platform, run } = working;
  const { place, key } = asked;
  const { experimentId } = run.declared;
  const recorded = await readStageByKey(platform.database.db, key);
  if (recorded?.output) {
    const { output, experimentId: reusedFrom } = recorded;
    await keepEnd(working, asked, { outcome: 'completed', message: '', reusedFrom, output });
    const message = reusedFrom === experimentId ? '' : reusedFrom;
    return { state: 'reused', message, ...(await restored(working, asked, output)), output };
  }
  run.onBegin?.(place);
  const output = await stageFormOf(asked.stage.form).run(workOf(working, asked));
  await keepEnd(working, asked, { outcome: 'completed', message: '', reusedFrom: null, output });
  return { state: 'run', message: '', output };
}

function workOf({ platform, run, turns }: Working, { stage, place, ...asked }: Asked): StageWork {
  const { experimentId, experiment } = run.declared;
  const progress = (text: string) => run.onProgress?.(place, text);
  const { concurrency } = experiment;
  return { platform, experimentId, stage, ...asked, concurrency, signal: run.signal, progress, turns };
}

/** Makes again what a stage left on this machine, where it is gone. */
async function restored(working: Working, asked: Asked, output: StageOutput): Promise<Pick<StageState, 'restored'>> {
  const said = await stageFormOf(asked.stage.form).restore?.(workOf(working, asked), output);
  return said ? { restored: said } : {};
}

/** Records the end of a stage; one at a time, because an appender counts the records of its stream. */
async function keepEnd(
  { platform, run, turns }: Working,
  { stage, place, key }: Asked,
  end: Pick<DataOf<'StageFinished'>, 'outcome' | 'message' | 'reusedFrom' | 'output'>,
): Promise<void> {
  const { experimentId } = run.declared;
  await turns('the record of the experiment', async () => {
    await recordStage(platform, { experimentId, ...place, kind: stage.kind, key, ...end });
    await settle(platform, run.signal);
  });
}

function isAt(record: StageRecord, { arm, seed, stage }: StagePlace): boolean {
  return record.arm === arm && record.seed === seed && record.stage === stage;
}

import type { StepResult } from '../../environments/environment.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import type { RecordedStep } from '../../projections/step-tree/read-recorded-steps.ts';

/**
 * Reads what the environment answered at the steps of a searched tree, so that a deterministic one need not be asked again where
 * the same is done. Left out is what the record does not hold whole: steps that called tools, were paid by components of their
 * own or punished, ends at a limit of the environment, and rewards that are sums of all before. A step that was paid
 * nothing has no event; what kind of reward it is follows from those of the tree, and where none was paid nothing is returned.
 */
export async function readRecordedAnswers(
  db: Db,
  treeId: string,
  steps: ReadonlyMap<string, RecordedStep>,
): Promise<ReadonlyMap<string, StepResult>> {
  const events = await readEventsOfTypes(db, treeId, ['StepTaken', 'RewardAssigned', 'ToolCalled', 'RolloutFinished']);
  const executable = new Map<string, boolean>();
  const unlike = new Set<string>();
  const ends = new Map<string, { readonly success: boolean | null; readonly reason: string }>();
  const paid = new Map<string, StepResult['reward']>();
  for (const { type, data } of events) {
    if (type === 'StepTaken') executable.set(data.stepId, data.executable);
    else if (type === 'ToolCalled') unlike.add(data.stepId);
    else if (type === 'RolloutFinished') ends.set(data.leafStepId, data);
    else if (data.stepId !== null) {
      const { stepId, component, raw, value, scorer } = data;
      if (component !== 'environment' || raw === null || raw.kind === 'cumulative' || raw.value < 0 || paid.has(stepId))
        unlike.add(stepId);
      else paid.set(stepId, { value, raw: raw.value, scale: raw.scale, kind: raw.kind, scorer });
    }
  }
  const [some] = paid.values();
  if (!some) return new Map();
  const unpaid = { ...some, value: 0, raw: 0 };
  const answers = new Map<string, StepResult>();
  for (const { stepId, depth, termination, observation, admissibleActions, stateHash } of steps.values()) {
    const end = ends.get(stepId);
    // The depth limit of the search is none of the environment's doing.
    const cut = termination === 'truncated' && end?.reason !== 'depth';
    if (depth === 0 || cut || unlike.has(stepId)) continue;
    const terminated = termination === 'terminated';
    answers.set(stepId, {
      observation,
      terminated,
      truncated: false,
      admissibleActions,
      stateHash,
      reward: paid.get(stepId) ?? unpaid,
      success: terminated ? (end?.success ?? false) : null,
      executable: executable.get(stepId) ?? true,
    });
  }
  return answers;
}

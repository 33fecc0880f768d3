import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { meanAmount } from '../../../domain/reward/amount.ts';
import type { AnnotationRecord } from '../../../projections/annotations/read-annotations.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import type { RecordedRollout, RecordedStep, TreeHead } from '../../../projections/trajectories/recorded-tree.ts';

/** What a format writes: one finished rollout, root first, every text in place. */
export interface ExportTrajectory {
  readonly head: TreeHead;
  readonly rollout: RecordedRollout;
  /** Null where nobody rewarded a step of its path, or it as a whole: unknown, which is not 0. */
  readonly returnValue: number | null;
  /** Sums of the rewards along the path and on the rollout, by component. */
  readonly rewards: Readonly<Record<string, number>>;
  /** Of these the sums of those on the rollout itself, which no step holds. */
  readonly rolloutRewards: Readonly<Record<string, number>>;
  readonly root: RecordedStep;
  /** Ids of the pictures of its observation. */
  readonly firstPictures?: readonly string[];
  /** The steps after the root, each with the rewards that stand on it and the prompt that it was asked with. */
  readonly steps: readonly ExportStep[];
  /** What was said of the rollout and of its steps. */
  readonly annotations: readonly RowAnnotation[];
  /** The recorded configuration of the run, whatever its producer wrote. */
  readonly config: unknown;
}

export interface ExportStep extends Omit<RecordedStep, 'reply'> {
  /** The reply with its structure. */
  readonly message: PolicyMessage;
  readonly rewards: Readonly<Record<string, number>>;
  /** Ids of the pictures of its observation. */
  readonly pictures?: readonly string[];
  /** Null where the record holds none. */
  readonly prompt: RecordedPrompt | null;
}

/** What an export says of an annotation. */
export type RowAnnotation = Pick<
  AnnotationRecord,
  'id' | 'kind' | 'stepId' | 'rolloutId' | 'revisionId' | 'label' | 'score' | 'note' | 'principal' | 'addedAt'
>;

/** The subjects whose annotations are those of a row: a rollout, the steps of its path, and of a revision the revision. */
export interface Annotated {
  readonly rolloutId: string;
  readonly stepIds: ReadonlySet<string>;
  readonly revisionId?: string;
}

/** Returns the annotations of a trajectory, those of its steps among them, in the order in which they were added. */
export function annotationsOn(
  annotations: readonly AnnotationRecord[],
  { rolloutId, stepIds, revisionId }: Annotated,
): readonly RowAnnotation[] {
  return annotations.filter((each) => {
    switch (each.kind) {
      case 'rollout':
        return each.rolloutId === rolloutId;
      case 'step':
        return each.stepId !== null && stepIds.has(each.stepId);
      case 'revision':
        return revisionId !== undefined && each.revisionId === revisionId;
      case 'row': // of a release, which the row was not part of when it was written
      case 'tree':
        return false;
      default:
        return refuseUnknown(each.kind);
    }
  });
}

/**
 * Writes the labels of annotations as one text, a label a line, each once in the order of the alphabet; '' for none. A list would
 * have no type in a file without any; no label holds a line break.
 */
export function labelLines(annotations: readonly RowAnnotation[]): string {
  return [...new Set(annotations.flatMap(({ label }) => label ?? []))].sort().join('\n');
}

/** The mean of the scores of annotations; null without one. */
export function meanScore(annotations: readonly RowAnnotation[]): number | null {
  return meanAmount(annotations.flatMap(({ score }) => score ?? []));
}

function refuseUnknown(kind: never): never {
  throw new TypeError(`an annotation of an unknown kind: ${kind}`);
}

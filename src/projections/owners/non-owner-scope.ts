import { catalogue, type EventType } from '../../events/catalogue.ts';

/** What others than the owner of a stream may add to it with the scope `judge`: what they found of it. */
const JUDGED: ReadonlySet<string> = new Set<EventType>([
  ...(['RewardAssigned', 'RewardRevised', 'StepJudged', 'RevisionComposed', 'RevisionVerified', 'RevisionRejected'] as const),
  ...(['ReplayFinished', 'ReplayDiverged'] as const),
]);
const ANNOTATED: ReadonlySet<string> = new Set<EventType>(['AnnotationAdded', 'AnnotationRetracted']);

/**
 * Returns the scope by which others than the owner of a stream may add an event to it; null where nobody else may. A prompt is a
 * judgement where it was shown to a judge.
 */
export function nonOwnerScope(event: { readonly type: string; readonly data: object }): 'judge' | 'annotate' | null {
  const { type, data } = event;
  if (ANNOTATED.has(type)) return 'annotate';
  return JUDGED.has(type) || (type === 'PromptShown' && 'judgementId' in data && data.judgementId !== undefined) ? 'judge' : null;
}

/**
 * Returns whether an event makes a tree grow, which is for the run of the tree alone. What others find of the tree may name a run
 * of their own.
 */
export function growsTree(event: { readonly type: EventType; readonly data: object }): boolean {
  return catalogue[event.type].topic === 'trees' && nonOwnerScope(event) === null;
}

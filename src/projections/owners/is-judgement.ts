import type { EventType } from '../../events/catalogue.ts';

/** What others than the owner of a stream may add to it with the scope `judge`: what they found of it. */
const JUDGED: ReadonlySet<string> = new Set<EventType>([
  ...(['RewardAssigned', 'RewardRevised', 'StepJudged', 'RevisionComposed', 'RevisionVerified', 'RevisionRejected'] as const),
  ...(['ReplayFinished', 'ReplayDiverged'] as const),
]);

/** Whether an event is a judgement: a prompt is one where it was shown to a judge. */
export function isJudgement({ type, data }: { readonly type: string; readonly data: object }): boolean {
  return JUDGED.has(type) || (type === 'PromptShown' && 'judgementId' in data && data.judgementId !== undefined);
}

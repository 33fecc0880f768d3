import {
  type LargeTextsNamedFragment,
  type StepTextQuery,
  stepText,
  type ToolCallTextsQuery,
  type TreeTextQuery,
  toolCallTexts,
  treeText,
} from '../../../graphql/studio/generated/operations.ts';
import { LargeText } from '../parts/large-text.tsx';

interface Texts {
  readonly id: string;
  readonly largeTexts: readonly LargeTextsNamedFragment[];
}
type Field = 'thought' | 'action' | 'response' | 'observation';

/** A text of a step, of any length. */
export function StepText({
  step: { id, largeTexts },
  ...shown
}: {
  readonly step: Texts;
  readonly field: Field;
  readonly text: string;
  readonly className?: string;
}) {
  const source = { operation: stepText, id, textsIn: ({ step }: StepTextQuery) => step?.largeTexts };
  return <LargeText largeTexts={largeTexts} source={source} {...shown} />;
}

/** What a tool was called with, or what it gave, of any length. */
export function ToolText({
  step: id,
  call,
  ...shown
}: {
  readonly step: string;
  readonly call: Texts;
  readonly field: 'arguments' | 'output';
  readonly text: string;
  readonly className?: string;
}) {
  const textsIn = ({ step }: ToolCallTextsQuery) => step?.toolCalls.find((each) => each.id === call.id)?.largeTexts;
  return <LargeText largeTexts={call.largeTexts} source={{ operation: toolCallTexts, id, textsIn }} {...shown} />;
}

/** The instruction of a tree, of any length. */
export function Instruction({
  tree: { id, largeTexts, instruction },
}: {
  readonly tree: Texts & { readonly instruction: string };
}) {
  const source = { operation: treeText, id, textsIn: ({ tree }: TreeTextQuery) => tree?.largeTexts };
  return <LargeText largeTexts={largeTexts} source={source} field="instruction" text={instruction} />;
}

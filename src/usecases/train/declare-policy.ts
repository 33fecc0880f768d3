import { createAppender } from '../../append/appender.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { canonicalJson } from '../../events/codec.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { nextSequence } from '../../platform/next-sequence.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type LineageRecord, readLineages } from '../../projections/training-pool/read-lineages.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { declareTraining, type TrainingDeclaration, TrainingRefused, trainingDeclared } from './batcher/declare-training.ts';

const CATCH_UP_MS = 10_000;
const PRODUCER = { name: 'training-api', version: CODE_VERSION };

/** The rules of a trainer elsewhere that names no others: any rollout of a complete group whose rewards differ. */
export const EXTERNAL_RULES: PlanRules = {
  ...{ groupsPerBatch: 8, group: { kind: 'all' }, maxStaleness: null, offPolicy: 'any' },
  ...{ metric: 'environment', unscored: 'wait', zeroVariance: 'reject', band: null },
  ...{ truncated: 'keep', maxTokens: null, layout: 'step', tokenBudget: 16_384 },
};

export type PolicyDeclared =
  | { readonly kind: 'declared' }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'declared-otherwise';
      readonly message: string;
      readonly remedy: string;
    };

/** Declares the training of a policy by a program elsewhere. Declaring the same again changes nothing. */
export async function declarePolicy(
  { database, log, blobs }: Pick<Platform, 'database' | 'log' | 'blobs'>,
  declaration: TrainingDeclaration,
): Promise<PolicyDeclared> {
  const wanted = read(() => trainingDeclared(declaration));
  if ('message' in wanted)
    return { kind: 'refused', code: 'invalid', message: wanted.message, remedy: 'correct it and send it again' };
  const known = async () => (await readLineages(database.db, [declaration.policyId]))[0];
  let recorded = await known();
  if (!recorded) {
    const appender = createAppender({
      ...{ log, blobs, producer: PRODUCER, clock: Date.now },
      sequenceOf: (stream, topic) => nextSequence(database.db, PRODUCER.name, stream, topic),
    });
    await declareTraining(appender, declaration);
    await waitUntilProjected(database.db, await log.ends(['training']), { timeoutMs: CATCH_UP_MS });
    recorded = await known(); // of two that were declared at once, the first
  }
  if (recorded && isSame(recorded, wanted)) return { kind: 'declared' };
  return {
    ...{ kind: 'refused', code: 'declared-otherwise' },
    message: `the policy ${declaration.policyId} is declared with another estimator, other rules or another seed`,
    remedy: 'repeat that declaration, or name another policy: all batches of one policy are planned alike',
  };
}

function isSame({ estimator, rules, seed }: LineageRecord, wanted: DataOf<'TrainingDeclared'>): boolean {
  return canonicalJson([estimator, rules, seed]) === canonicalJson([wanted.estimator, wanted.rules, wanted.seed]);
}

function read<Value>(make: () => Value): Value | TrainingRefused {
  try {
    return make();
  } catch (error) {
    if (error instanceof TrainingRefused) return error;
    throw error;
  }
}

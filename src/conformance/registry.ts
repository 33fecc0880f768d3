import { agentocrGlyphsCheck, agentocrRenderCheck } from './checks/agentocr-render.ts';
import { publishedExceptionsCheck } from './checks/published-exceptions.ts';
import { pythonRandomCheck } from './checks/python-random.ts';
import { pairsCheck, publishedTreesCheck, revisionRowsCheck, verdictCheck, xtunerCheck } from './checks/revision-rows.ts';
import { rlGaeCheck, rlGigpoCheck, rlGroupBaselinesCheck, rlReinforceCheck } from './checks/rl-advantages.ts';
import { rlBatchingCheck } from './checks/rl-batching.ts';
import { rlMaskedStatisticsCheck } from './checks/rl-masked-statistics.ts';
import { rlPolicyLossCheck } from './checks/rl-policy-loss.ts';
import { rlProcessRewardsCheck } from './checks/rl-process-rewards.ts';
import { rlRolloutCorrectionCheck } from './checks/rl-rollout-correction.ts';
import { rlRuleRewardsCheck } from './checks/rl-rule-rewards.ts';
import { rlToolProtocolCheck } from './checks/rl-tool-protocol.ts';
import { rlValueKlEntropyCheck } from './checks/rl-value-kl-entropy.ts';
import { searchCheck, treeOnDiskCheck } from './checks/search.ts';
import {
  backUpCheck,
  bestChildCheck,
  clientActionCheck,
  contextTruncationCheck,
  parseReactCheck,
  publishedReplyCheck,
  snapActionCheck,
  uctCheck,
} from './checks/search-rules.ts';
import { textcraftResetCheck, textcraftSessionsCheck, textcraftWorldCheck } from './checks/textcraft-world.ts';
import type { VectorCheck } from './vector-check.ts';

/** Every kind of vector file that we can judge: a new kind is one file in `checks/` and one line here. */
export const CHECKS: readonly VectorCheck[] = [
  uctCheck,
  bestChildCheck,
  backUpCheck,
  pythonRandomCheck,
  publishedTreesCheck,
  pairsCheck,
  revisionRowsCheck,
  verdictCheck,
  publishedReplyCheck,
  searchCheck,
  treeOnDiskCheck,
  contextTruncationCheck,
  xtunerCheck,
  textcraftWorldCheck,
  textcraftSessionsCheck,
  textcraftResetCheck,
  publishedExceptionsCheck,
  parseReactCheck,
  clientActionCheck,
  snapActionCheck,
  rlMaskedStatisticsCheck,
  rlGaeCheck,
  rlGroupBaselinesCheck,
  rlReinforceCheck,
  rlGigpoCheck,
  rlPolicyLossCheck,
  rlValueKlEntropyCheck,
  rlRolloutCorrectionCheck,
  rlBatchingCheck,
  agentocrRenderCheck,
  agentocrGlyphsCheck,
  rlProcessRewardsCheck,
  rlRuleRewardsCheck,
  rlToolProtocolCheck,
];

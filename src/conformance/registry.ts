import { agentocrGlyphsCheck } from './checks/agentocr-glyphs.ts';
import { agentocrRenderCheck } from './checks/agentocr-render.ts';
import { backUpCheck } from './checks/back-up.ts';
import { bestChildCheck } from './checks/best-child.ts';
import { clientActionCheck } from './checks/client-action.ts';
import { contextTruncationCheck } from './checks/context-truncation.ts';
import { pairsCheck } from './checks/pairs.ts';
import { parseReactCheck } from './checks/parse-react.ts';
import { publishedExceptionsCheck } from './checks/published-exceptions.ts';
import { publishedReplyCheck } from './checks/published-reply.ts';
import { publishedTreesCheck } from './checks/published-trees.ts';
import { pythonRandomCheck } from './checks/python-random.ts';
import { revisionRowsCheck } from './checks/revision-rows.ts';
import { rlBatchingCheck } from './checks/rl-batching.ts';
import { rlGaeCheck } from './checks/rl-gae.ts';
import { rlGigpoCheck } from './checks/rl-gigpo.ts';
import { rlGroupBaselinesCheck } from './checks/rl-group-baselines.ts';
import { rlMaskedStatisticsCheck } from './checks/rl-masked-statistics.ts';
import { rlPolicyLossCheck } from './checks/rl-policy-loss.ts';
import { rlProcessRewardsCheck } from './checks/rl-process-rewards.ts';
import { rlReinforceCheck } from './checks/rl-reinforce.ts';
import { rlRolloutCorrectionCheck } from './checks/rl-rollout-correction.ts';
import { rlRuleRewardsCheck } from './checks/rl-rule-rewards.ts';
import { rlToolProtocolCheck } from './checks/rl-tool-protocol.ts';
import { rlValueKlEntropyCheck } from './checks/rl-value-kl-entropy.ts';
import { searchCheck, treeOnDiskCheck } from './checks/search.ts';
import { snapActionCheck } from './checks/snap-action.ts';
import { textcraftResetCheck } from './checks/textcraft-reset.ts';
import { textcraftSessionsCheck } from './checks/textcraft-sessions.ts';
import { textcraftWorldCheck } from './checks/textcraft-world.ts';
import { uctCheck } from './checks/uct.ts';
import { verdictCheck } from './checks/verdict.ts';
import { xtunerCheck } from './checks/xtuner.ts';
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

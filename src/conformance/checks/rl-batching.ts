import { z } from 'zod';
import { admissionBudget } from '../../domain/training/batching/admission-budget.ts';
import { balancePartition, rowWorkload } from '../../domain/training/batching/micro-batches.ts';
import { measurePrefixTree } from '../../domain/training/batching/prefix-tree.ts';
import { planTrajectoryBatches } from '../../domain/training/batching/trajectory-batches.ts';
import { layOutRollout } from '../../domain/training/rows/rollout-layout.ts';
import { rlCheck, turnsShape } from '../rl-vectors.ts';

const lengths = z.object({ seqlens: z.array(z.int()) });
const partition = lengths.extend({ k: z.int(), equal_size: z.boolean() });
const budgets = z.object({
  rows: z.array(
    z.object({
      staleness_threshold: z.number(),
      trigger_parameter_sync_step: z.int(),
      require_batches: z.int(),
      ppo_mini_batch_size: z.int(),
      already_stale: z.int(),
    }),
  ),
});
const ids = z.array(z.int());
const laidOut = z.object({
  prompt_ids: ids,
  turns: turnsShape,
  max_prompt_length: z.int(),
  max_response_length: z.int(),
  pad_token_id: z.int(),
});
const trajectoryRows = z.object({ trajectory_uids: z.array(z.string()), mini_batch_size: z.int(), dp_size: z.int() });

/**
 * Judges `12-batching`: workloads, admission budgets, balanced partitions, padded rows, prefix trees, and mini-batches of whole
 * trajectories with masked padding.
 */
export const rlBatchingCheck = rlCheck(/^12-batching.*\.json$/, {
  sequence_workload: ({ inputs }) => ({ value: lengths.parse(inputs).seqlens.map(rowWorkload) }),
  fully_async_budget({ inputs }) {
    const rows = budgets.parse(inputs).rows.map((row) => {
      const rule = {
        miniBatchSize: row.ppo_mini_batch_size,
        requireBatches: row.require_batches,
        trigger: row.trigger_parameter_sync_step,
        staleness: row.staleness_threshold,
      };
      const { required, most, left } = admissionBudget(rule, row.already_stale);
      return { required_samples: required, max_required_samples: most, rollout_budget_until_next_sync: left };
    });
    return { rows };
  },
  seqlen_balanced_partitions({ inputs }) {
    const { seqlens, k, equal_size: equal } = partition.parse(inputs);
    const partitions = balancePartition(seqlens, k, equal ? 'equal' : 'free');
    return { partitions, sums: partitions.map((items) => items.reduce((sum, item) => sum + (seqlens[item] ?? 0), 0)) };
  },
  prefix_tree_tokens: ({ inputs }) => ({ ...measurePrefixTree(z.object({ sequences: z.array(ids) }).parse(inputs).sequences) }),
  rollout_layout({ inputs, expected }) {
    const given = laidOut.parse(inputs);
    const response = Math.min(given.max_response_length, widthOf(expected.responses) ?? given.max_response_length);
    const widths = { prompt: given.max_prompt_length, response, padId: given.pad_token_id };
    const row = layOutRollout(given.prompt_ids, given.turns, widths);
    const columns = {
      prompts: row.prompts,
      responses: row.responses,
      input_ids: row.inputIds,
      turns: row.turns,
      attention_mask: row.attentionMask,
      position_ids: row.positionIds,
      response_mask: row.responseMask,
      action_mask: row.actionMask,
      reward_column: row.rewardColumn,
    };
    const isBatch = Array.isArray(firstOf(expected.responses));
    return isBatch ? Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, [value]])) : columns;
  },
  trajectory_mini_batches({ inputs }) {
    const { trajectory_uids: trajectories, mini_batch_size: miniBatchSize, dp_size: ranks } = trajectoryRows.parse(inputs);
    const tokens = trajectories.map(() => 1);
    const rows = planTrajectoryBatches(trajectories, tokens, { miniBatchSize, ranks }).ranks.flat();
    return {
      source_row: rows.map(({ sourceRow }) => sourceRow),
      mini_batch_id: rows.map(({ miniBatch }) => miniBatch),
      sample_mask: rows.map(({ sample }) => sample === 'real'),
    };
  },
});

/**
 * The columns of a case's response. The published program pads a batch to its longest row, at most to `max_response_length`: one
 * row alone does not say how wide its batch was.
 */
function widthOf(responses: unknown): number | null {
  const row = Array.isArray(firstOf(responses)) ? firstOf(responses) : responses;
  return Array.isArray(row) ? row.length : null;
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? (list as readonly unknown[])[0] : undefined; // isArray narrows to any[]
}

/** A case of a vector file as these tests write it. */
export interface Case {
  readonly algorithm: string;
  readonly variant: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly expected: Readonly<Record<string, unknown>>;
}

const SEED_FORMAT =
  'Invalid tool call format. Please use <tool_call>{"name": "tool_name", "arguments": {params_json}}</tool_call> format.';
const CALL = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>';

/** Evaluated by hand from the formulas of the specification, or by a transcription of them in Python. */
export const OWN_CASES: readonly (readonly [file: string, given: Case])[] = [
  ['01-masked-statistics', of('masked_var', 'unbiased', { values: [[1, 2, 3]], mask: [[1, 1, 1]] }, 0.9999999966666666)],
  [
    '01-masked-statistics',
    of(
      'response_mask_from_eos',
      'int',
      {
        ids: [
          [5, 1, 7, 1],
          [5, 6, 7, 8],
        ],
        eos: 1,
      },
      [
        [1, 1, 0, 0],
        [1, 1, 1, 1],
      ],
    ),
  ],
  [
    '02-gae',
    {
      algorithm: 'gae',
      variant: 'Agent-R1 legacy (compact action tokens)',
      inputs: { token_level_rewards: [[0, 0, 1]], values: [[0.5, 9, 0.25]], response_mask: [[1, 0, 1]], gamma: 1, lam: 1 },
      expected: {
        advantages_raw: [[0.5, 0, 0.75]],
        returns: [[1, 9, 1]],
        advantages: [[-0.7071066521395892, -3.5355333314086117, 0.7071066874949219]],
      },
    },
  ],
  [
    '03-group-baselines',
    {
      algorithm: 'reinforce_plus_plus_baseline',
      variant: 'verl < 0.4 / Agent-R1 legacy (no final mask)',
      inputs: {
        token_level_rewards: [
          [1, 0],
          [0, 0],
        ],
        response_mask: [
          [1, 0],
          [1, 1],
        ],
        index: ['p', 'p'],
      },
      expected: {
        centred: [0.5, -0.5],
        advantages: [
          [1.1547005220209943, 0.28867512978356075],
          [-0.5773502624538727, -0.5773502624538727],
        ],
      },
    },
  ],
  [
    '03-group-baselines',
    {
      algorithm: 'remax',
      variant: 'greedy baseline',
      inputs: {
        token_level_rewards: [
          [0.25, 9, 1],
          [0, 0, 0],
        ],
        response_mask: [
          [1, 0, 1],
          [1, 1, 0],
        ],
        index: ['p', 'q'],
        reward_baselines: [0.5, -1],
      },
      expected: {
        advantages: [
          [0.75, 1, 0.5],
          [1, 1, 0],
        ],
        returns: [
          [1.25, 1, 1],
          [0, 0, 0],
        ],
      },
    },
  ],
  [
    '03-group-baselines',
    {
      algorithm: 'rloo_trajectory',
      variant: 'Agent-R1 v0.1',
      inputs: {
        token_level_rewards: [
          [0.5, 0],
          [0, 0.5],
          [0, 0],
          [0.5, 0],
          [0.7, 0],
        ],
        response_mask: [
          [1, 1],
          [1, 1],
          [1, 0],
          [1, 1],
          [1, 1],
        ],
        index: ['g', 'g', 'g', 'g', 'h'],
        trajectory_uids: ['a', 'a', 'b', 'c', 'd'],
      },
      // sums 1, 0, 0.5 with mean 0.5, times 3/2; a single trajectory keeps its score
      expected: {
        scalar: [0.75, 0.75, -0.75, 0, 0.7],
        advantages: [
          [0.75, 0.75],
          [0.75, 0.75],
          [-0.75, 0],
          [0, 0],
          [0.7, 0.7],
        ],
      },
    },
  ],
  [
    '04-reinforce',
    {
      algorithm: 'reinforce_plus_plus',
      variant: 'Agent-R1 legacy (compact action tokens)',
      inputs: { token_level_rewards: [[0, 9, 1]], response_mask: [[1, 0, 1]], gamma: 0.5 },
      expected: { returns: [[0.5, 0, 1]], advantages: [[-0.7071067440634434, 0, 0.707106765276646]] },
    },
  ],
  [
    '06-policy-loss',
    {
      algorithm: 'gpg_policy_loss',
      variant: 'no ratio',
      inputs: {
        log_prob: [
          [-1, -2],
          [-3, -4],
        ],
        advantages: [
          [0.5, 1],
          [-1, 9],
        ],
        response_mask: [
          [1, 1],
          [1, 0],
        ],
      },
      expected: { pg_loss: (0.5 + 2 - 3) / 3 },
    },
  ],
  [
    '07-value-kl-entropy',
    {
      algorithm: 'apply_kl_penalty',
      variant: 'k1, adaptive',
      inputs: {
        token_level_scores: [[0, 1]],
        old_log_probs: [[-1, -2]],
        ref_log_prob: [[-1.5, -1]],
        mask: [[1, 1]],
        beta: 0.1,
        target: 0.1,
        horizon: 100,
      },
      expected: { token_level_rewards: [[-0.05, 1.1]], current_kl: -0.24999999875, beta_after: 0.0998 },
    },
  ],
  [
    '07-value-kl-entropy',
    of('kl_penalty', 'verl <= 0.4.0 (no pre-clamp)', { log_prob: [[-1, -800]], ref_log_prob: [[-0.5, 0]], kind: 'low_var_kl' }, [
      [0.1487212707001282, 10],
    ]),
  ],
  [
    '09-process-rewards',
    of(
      'calculator_tool_reward',
      'seed 2025-03',
      { expressions: ['', '7', '1+1', '(1+2)*(3+4)', '1/0'] },
      [0, 0.42, 0.44, 0.5, 0.44],
    ),
  ],
  [
    '09-process-rewards',
    of(
      'prime_norm',
      'all zero',
      {
        process_rewards: [
          [0, 0],
          [0, 0],
        ],
      },
      [
        [0, 0],
        [0, 0],
      ],
    ),
  ],
  [
    '10-rule-rewards',
    {
      algorithm: 'em_and_subem',
      variant: 'pairs (prediction, gold)',
      inputs: {
        pairs: [
          ['The Paris!', 'paris'],
          ['in Paris, France', 'Paris'],
          ['Lyon', 'Paris'],
          ['Lyon', 'the'],
        ],
      },
      expected: { em: [1, 0, 0, 0], subem: [1, 1, 0, 1] },
    },
  ],
  [
    '10-rule-rewards',
    of(
      'hotpotqa_recipe',
      'Agent-R1 v0.1',
      {
        rows: [
          ['<ANSWER>Paris</answer>', 'paris', []],
          ['Paris', 'Paris'],
          ['<answer>Lyon</answer> Paris', 'Paris', ['Marseille']],
          ['<answer>x</answer><answer>City of Light</answer>', 'Paris', { answers: ['the city of light'] }],
          ['<answer></answer>', null],
        ],
      },
      [1, 1, 0, 1, 0],
    ),
  ],
  [
    '10-rule-rewards',
    of(
      'gsm8k_verl',
      'strict',
      {
        pairs: [
          ['so #### 1,234', '1234'],
          ['#### 12 then #### 13', '13'],
          ['it is 42', '42'],
        ],
      },
      [1, 1, 0],
    ),
  ],
  [
    '11-tool-protocol',
    of(
      'seed_extract',
      '2025-03',
      { texts: [CALL, '<tool_call>{"name": "a"}</tool_call>', 'no call', '<tool_call>5</tool_call>'] },
      [{ name: 'search', arguments: { query: 'x' } }, { name: 'a', arguments: {} }, null, null],
    ),
  ],
  [
    '11-tool-protocol',
    of('seed_extract', '2025-03', { texts: [`${CALL}${CALL}`, 'no call'] }, [
      { tool: 'search', args: { query: 'x' } },
      { tool: 'invalid', args: {} },
    ]),
  ],
  [
    '11-tool-protocol',
    of(
      'seed_env_step',
      '2025-03, max_turns=1, tool reward 0.25',
      {
        texts: [
          CALL,
          '<answer>42</answer>',
          '<tool_call>{"name": "nope", "arguments": {}}</tool_call>',
          '<tool_call>{"name": "search", "arguments": {"query": 5}}</tool_call>',
        ],
        tool: "name 'search'",
      },
      [
        { observation: 'R:xxxxxxxxxxxx', reward: 0.25, done: true, valid: true, effective: true },
        { observation: SEED_FORMAT, reward: -0.1, done: false, valid: false, effective: false },
        { observation: 'Unknown tool: nope', reward: -0.05, done: false, valid: true, effective: false },
        {
          observation: "Invalid arguments for tool 'search': Parameter query has incorrect type, should be string",
          reward: -0.05,
          done: false,
          valid: true,
          effective: false,
        },
      ],
    ),
  ],
  [
    '11-tool-protocol',
    of('seed_env_step', '2025-03, max_turns=1, tool reward 0.25', { texts: [CALL], tool: '' }, [
      ['R:xxxxxxxxxxxx', 0.25, true, { action_is_valid: true, action_is_effective: true }],
    ]),
  ],
  [
    '12-batching',
    {
      algorithm: 'prefix_tree_tokens',
      variant: 'Claw-R1 documentation example',
      inputs: { sequences: [[1, 2, 3], [1, 2], [1, 2, 4, 5], [7]] },
      expected: { tokens: 10, packed: 6, ratio: 0.6 },
    },
  ],
  ...[
    [
      { model: [11, 12], tool: [21] },
      { model: [13], tool: [] },
    ],
    [[[11, 12], [21]], [[13]]],
    [[11, 12], [21], [13]],
    [
      { role: 'assistant', ids: [11, 12] },
      { role: 'tool', ids: [21] },
      { role: 'assistant', ids: [13] },
    ],
  ].map((turns): [string, Case] => [
    '12-batching',
    {
      algorithm: 'rollout_layout',
      variant: 'Agent-R1 legacy',
      inputs: { prompt_ids: [5, 6], turns, max_prompt_length: 3, max_response_length: 6, pad_token_id: 0 },
      expected: {
        prompts: [0, 5, 6],
        responses: [11, 12, 21, 13, 0, 0],
        input_ids: [0, 5, 6, 11, 12, 21, 13, 0, 0],
        attention_mask: [0, 1, 1, 1, 1, 1, 1, 0, 0],
        position_ids: [0, 0, 1, 2, 3, 4, 5, 0, 0],
        response_mask: [1, 1, 1, 1, 0, 0],
        action_mask: [1, 1, 0, 1, 0, 0],
        reward_column: 3,
        turns: 1,
      },
    },
  ]),
  [
    '12-batching',
    {
      algorithm: 'rollout_layout',
      variant: 'Agent-R1 legacy',
      inputs: { prompt_ids: [4, 5, 6], turns: [[[11, 12], [21]]], max_prompt_length: 2, max_response_length: 2, pad_token_id: 0 },
      expected: {
        prompts: [[5, 6]],
        responses: [[11, 12]],
        input_ids: [[5, 6, 11, 12]],
        attention_mask: [[1, 1, 1, 1]],
        position_ids: [[0, 1, 2, 3]],
        response_mask: [[1, 1]],
        action_mask: [[1, 1]],
        reward_column: [1],
        turns: [1],
      },
    },
  ],
];

function of(algorithm: string, variant: string, inputs: Case['inputs'], value: unknown): Case {
  return { algorithm, variant, inputs, expected: { value } };
}

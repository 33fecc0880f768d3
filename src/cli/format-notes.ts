import type { ExportFormat } from '../usecases/datasets/export/format.ts';
import type { RowFormat } from '../usecases/datasets/rows/row-options.ts';

const OF_TEXTS = 'TRL (SFTTrainer), verl and LLaMA-Factory';

/** Describes which reader trains on what of a file: its meaning is lost where a reader passes over a column. */
export function formatNotes(format: ExportFormat | RowFormat): readonly string[] {
  switch (format.kind) {
    case 'openai':
      return format.context === undefined
        ? [
            'note: OpenAI fine-tuning reads `weight`; TRL, verl, LLaMA-Factory and torchtune ignore it and train on every reply. For those: --format trl, or leave out --context keep',
          ]
        : [
            'note: every reply in this file is trained on: OpenAI fine-tuning, LLaMA-Factory (formatting: openai), verl (MultiTurnSFTDataset) and torchtune read it alike',
            'note: TRL (SFTTrainer) does so with assistant_only_loss=True; without it, it trains on the prompts too: take --format trl',
          ];
    case 'sharegpt':
      return format.context === undefined
        ? [
            'note: AgentGym reads `loss`; LLaMA-Factory and FastChat ignore it and train on every reply. For those: leave out --context keep',
          ]
        : [
            'note: every `gpt` turn in this file is trained on: LLaMA-Factory (formatting: sharegpt), FastChat and AgentGym read it alike',
          ];
    case 'trl':
      return format.tokenizer !== undefined
        ? [
            'note: TRL (SFTTrainer) trains on `labels`, where they are not -100; set max_length=None, or it cuts rows at 1,024 tokens',
          ]
        : ['note: TRL (SFTTrainer) trains on `completion`; --tokenizer DIR writes a row per trajectory instead of one per reply'];
    case 'trl-grpo':
      return [
        'note: TRL has no reader of scored completions: GRPOTrainer takes them from a rollout source (espalier_rl.adapters.trl, ScoredCompletions), which masks observations',
      ];
    case 'dpo':
      return ['note: TRL (DPOTrainer) compares `chosen` with `rejected`, every token of both'];
    case 'xtuner':
      return [`note: xtuner reads \`output_with_loss\`; ${OF_TEXTS} do not know the form`];
    case 'verl':
      return ['note: this is experience (DataProto, by espalier_rl.adapters.verl); RLHFDataset reads prompts: --data prompts'];
    case 'atif':
      return [
        'note: ATIF has no place for prompts, pictures and cuts of a trajectory; readers that train leave out steps with is_copied_context',
      ];
    case 'verl-prompts':
      return ['note: verl (RLHFDataset) reads this file with its default keys: prompt, reward_model.ground_truth, extra_info'];
    case 'parquet':
      return [
        'note: for pandas, polars and duckdb; a loss is to count replies with `weight` 1 alone, and trainers do not know the form',
      ];
    case 'agent-r':
      return ['note: the published program of Agent-R reads this file: `revise_log`, replies with `loss` true'];
    case 'jsonl':
      return ['note: these are events: espalier import takes them back without loss, and trainers do not know the form'];
    default:
      return format satisfies never;
  }
}

/** Describes what readers of tables must be asked for with a file of JSON lines with pictures; nothing of other files. */
export function pictureFormatNotes({ kind }: ExportFormat | RowFormat): readonly string[] {
  if (kind === 'parquet' || kind === 'verl' || kind === 'verl-prompts' || kind === 'jsonl') return [];
  return [
    'note: polars and pyarrow take types from the first rows, which may show no picture: read_ndjson(…, infer_schema_length=None), ReadOptions(block_size=) of the size of the file; load_dataset, pandas and duckdb need nothing',
  ];
}

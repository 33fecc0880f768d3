import type { Command } from 'commander';

/** A command of the command line: one line about it, and what adds it to the program. */
export interface CommandEntry {
  readonly summary: string;
  /** Loads the file of the command: all of them together take most of a second. */
  readonly load: () => Promise<(program: Command) => void>;
}

/** The commands in the order of the help. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    summary: 'collect a seeded run, show it, export it, and serve it',
    load: async () => (await import('./demo.ts')).addDemo,
  },
  up: {
    summary: 'start everything and wait for work: projections, GraphQL, ingestion',
    load: async () => (await import('./up.ts')).addUp,
  },
  serve: {
    summary: 'run some of the roles of an installation, until it is stopped',
    load: async () => (await import('./serve.ts')).addServe,
  },
  proxy: {
    summary: 'forward the calls of an agent to a model server, and record each as a step',
    load: async () => (await import('./proxy.ts')).addProxy,
  },
  collect: {
    summary: 'collect rollouts of a policy in an environment',
    load: async () => (await import('./collect.ts')).addCollect,
  },
  chat: {
    summary: 'talk with a policy, its tools and an environment in the terminal, recorded like every rollout',
    load: async () => (await import('./chat.ts')).addChat,
  },
  revise: {
    summary: 'mine revision trajectories: pair good and bad ones, find the first error, splice, and execute the result',
    load: async () => (await import('./revise.ts')).addRevise,
  },
  score: {
    summary: 'score the rollouts of a run later: assign rewards, or revise the assigned ones',
    load: async () => (await import('./score.ts')).addScore,
  },
  annotate: {
    summary: 'annotate steps, rollouts, revisions, trees or rows of releases with a label, a score or a note, or retract it',
    load: async () => (await import('./annotate.ts')).addAnnotate,
  },
  feedback: {
    summary:
      'say afterwards what steps, rollouts or rows are worth: a reward by a person, a program or a judge, or another value',
    load: async () => (await import('./feedback.ts')).addFeedback,
  },
  annotations: {
    summary: 'list annotations: labels, scores, notes',
    load: async () => (await import('./annotations.ts')).addAnnotations,
  },
  evaluate: {
    summary: 'measure a policy on a set of tasks: success, return, loops, with bootstrap intervals',
    load: async () => (await import('./evaluate.ts')).addEvaluate,
  },
  experiment: {
    summary: 'run an experiment declared in a file, resume it, rerun it with changed options, compare',
    load: async () => (await import('./experiment.ts')).addExperiment,
  },
  sweep: {
    summary: 'run an experiment over values of its options, with an arm for each combination',
    load: async () => (await import('./experiment.ts')).addSweep,
  },
  train: {
    summary: 'train a policy: collect groups, plan batches, update, and measure on other tasks',
    load: async () => (await import('./train.ts')).addTrain,
  },
  ledger: {
    summary: 'account for every training sample: produced = trained + rejected + abandoned + owed',
    load: async () => (await import('./ledger.ts')).addLedger,
  },
  abandon: {
    summary:
      'abandon the next batch of a policy: its samples are never trained, and the next batch is trained on the same version',
    load: async () => (await import('./abandon.ts')).addAbandon,
  },
  seal: {
    summary: 'turn on or off the encryption of texts and tokens of a project by a key per stream, so that they can be forgotten',
    load: async () => (await import('./seal.ts')).addSeal,
  },
  forget: {
    summary: 'forget the texts and tokens of runs, trees or a project: destroy their keys and clear the read models',
    load: async () => (await import('./forget.ts')).addForget,
  },
  blobs: {
    summary: 'delete payloads of the blob store that no record refers to',
    load: async () => (await import('./blobs.ts')).addBlobs,
  },
  retention: {
    summary: 'set after how many days the texts and tokens of a project are forgotten, and forget what is older',
    load: async () => (await import('./retention.ts')).addRetention,
  },
  config: {
    summary: 'print the settings without secrets, and everything that is wrong with them',
    load: async () => (await import('./config.ts')).addConfig,
  },
  migrate: {
    summary: 'bring database and log to this version, and end; servers do so at their start too',
    load: async () => (await import('./migrate.ts')).addMigrate,
  },
  doctor: {
    summary: 'check step by step what a start needs: folders, Kafka, TLS, login, topics, database',
    load: async () => (await import('./doctor.ts')).addDoctor,
  },
  status: { summary: 'show log, projections, quarantine and runs', load: async () => (await import('./status.ts')).addStatus },
  view: {
    summary: 'write a run, a tree or an export as one page for a browser, without a server',
    load: async () => (await import('./view.ts')).addView,
  },
  tree: {
    summary: 'draw a tree: the steps of its rollouts, merged where they are equal',
    load: async () => (await import('./tree.ts')).addTree,
  },
  export: {
    summary: 'export trajectories or mined examples; equal exports have equal bytes',
    load: async () => (await import('./export.ts')).addExport,
  },
  table: {
    summary: 'write a table (trajectories, steps, rewards, samples, batches) for pandas, polars and duckdb',
    load: async () => (await import('./table.ts')).addTable,
  },
  import: {
    summary:
      "import our own jsonl export, AgentTraj (a JSON array, or one item per line), or a folder of Agent-R's search_results_<n>.json",
    load: async () => (await import('./import.ts')).addImport,
  },
  prepare: {
    summary:
      'make tasks of a published data set: tasks.jsonl for search-qa and tool-env, train.parquet and test.parquet for verl',
    load: async () => (await import('./prepare.ts')).addPrepare,
  },
  dataset: {
    summary: 'release, list and withdraw frozen training data',
    load: async () => (await import('./dataset.ts')).addDataset,
  },
  environments: {
    summary: 'list the environments with their options',
    load: async () => (await import('./environments.ts')).addEnvironments,
  },
  agentgym: { summary: 'inspect AgentGym servers', load: async () => (await import('./agentgym.ts')).addAgentgym },
  render: {
    summary: 'draw a text as a history image; each non-empty line is a record',
    load: async () => (await import('./render.ts')).addRender,
  },
  tokens: {
    summary: 'count the vision tokens of an image by its size',
    load: async () => (await import('./tokens.ts')).addTokens,
  },
  'compression-sweep': {
    summary: 'count the vision tokens of the histories of a run at other compression factors, without a model',
    load: async () => (await import('./compression-sweep.ts')).addCompressionSweep,
  },
  replay: {
    summary: 'repeat part of a run from the record, and report where it differs',
    load: async () => (await import('./replay.ts')).addReplay,
  },
  verify: {
    summary:
      'check the record for tampering and corruption: the hash chain of the journal, blobs, batch manifests, checkpoints, released files',
    load: async () => (await import('./verify.ts')).addVerify,
  },
  backup: {
    summary: 'back up the installation while it works: its log, payloads, checkpoints and keys; the next backup adds what is new',
    load: async () => (await import('./backup.ts')).addBackup,
  },
  restore: {
    summary: 'restore a backup into an empty installation, fold its read models, and verify the record',
    load: async () => (await import('./restore.ts')).addRestore,
  },
  trace: {
    summary: 'show what an id identifies, its events, its origins and everything derived from it',
    load: async () => (await import('./trace.ts')).addTrace,
  },
  recall: {
    summary: 'list the releases, batches, policy versions and evaluations that used part of the record',
    load: async () => (await import('./recall.ts')).addRecall,
  },
  'diff-rewards': {
    summary: 'compare the rewards of a run before and after a revision, with the effects',
    load: async () => (await import('./diff-rewards.ts')).addDiffRewards,
  },
  rebuild: {
    summary:
      'fold a projection again beside the live one, compare, and swap; readers never wait, and an interrupted rebuild is continued',
    load: async () => (await import('./rebuild.ts')).addRebuild,
  },
  aggregate: {
    summary: 'aggregate success, return, tokens, durations and rewards by run, task, depth, version, environment or tool',
    load: async () => (await import('./aggregate.ts')).addAggregate,
  },
  compare: {
    summary: 'compare runs task by task, with intervals',
    load: async () => (await import('./compare.ts')).addCompare,
  },
  'published-metrics': {
    summary: 'show the metrics of published systems for a run, under their names',
    load: async () => (await import('./published-metrics.ts')).addPublishedMetrics,
  },
  sink: {
    summary: 'post the updates of a policy, or the rollouts of a run, to Weights & Biases, MLflow, Trackio or TensorBoard',
    load: async () => (await import('./sink.ts')).addSink,
  },
  index: {
    summary: 'build missing indexes for queries, while the database is used',
    load: async () => (await import('./index-tables.ts')).addIndex,
  },
  schemas: {
    summary: 'print the JSON Schema of every event type, or write one file per type',
    load: async () => (await import('./schemas.ts')).addSchemas,
  },
  conformance: {
    summary: 'run vector files (of one system or of all) through the public functions',
    load: async () => (await import('./conformance.ts')).addConformance,
  },
  token: {
    summary: 'print the token for programs and browsers of this machine',
    load: async () => (await import('./token.ts')).addToken,
  },
  keys: { summary: 'API keys: create, list, revoke', load: async () => (await import('./keys.ts')).addKeys },
  projects: {
    summary: 'list the projects with their contents',
    load: async () => (await import('./projects.ts')).addProjects,
  },
  quarantine: {
    summary: 'events that could not be folded: list, requeue',
    load: async () => (await import('./quarantine.ts')).addQuarantine,
  },
};

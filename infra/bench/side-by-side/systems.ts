import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../src/runtime/free-port.ts';

/** A system that is compared: what is installed of it, its server, and the scripts that record by its client. */
export interface System {
  readonly name: string;
  /** Packages on PyPI, its own first. */
  readonly pins: readonly [string, ...string[]];
  /** Of the bench of steps; null: it is not part of it. */
  readonly steps: {
    readonly script: string;
    /** How many spans its client sends at a time: of the settings that it has, the one by which this work is queryable first. */
    readonly batch: number;
  } | null;
  /** Of the bench of calls; null: it is not part of it. */
  readonly calls: {
    readonly script: string;
    /** What runs besides the program. */
    readonly services: string;
  } | null;
  /** The arguments of Python that start its server, with what it keeps in `folder`. */
  server(folder: string, port: number): Promise<ServerCommand>;
  /** How durable its storage is, for the conditions. */
  readonly keeps: string;
}
export interface ServerCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Answers 200 when it serves. */
  readonly healthy: string;
}

/** The scripts of the bench of calls. */
export const CALLS = fileURLToPath(new URL('../calls/', import.meta.url));
/** The client of the bench of calls. */
export const OPENAI = 'openai==3.54.0';

const SENT = 'a file of what was sent';
const standIn: System['server'] = async (folder, port) => ({
  args: [join(CALLS, 'store.py'), folder, `${port}`],
  env: {},
  healthy: '/count',
});

/** The systems as they are installed from PyPI, each with the storage that it has without further set-up. */
export const SYSTEMS: readonly System[] = [
  {
    name: 'MLflow',
    pins: ['mlflow==3.17.2', OPENAI],
    steps: { script: 'record_mlflow.py', batch: 1_000 },
    calls: { script: 'calls_mlflow.py', services: 'its server, on SQLite' },
    keeps: 'SQLite, synchronous=FULL',
    server: async (folder, port) => ({
      args: [
        ...['-m', 'mlflow', 'server', '--host', '127.0.0.1', '--port', `${port}`, '--workers', '1'],
        ...[
          '--backend-store-uri',
          `sqlite:///${join(folder, 'mlflow.db')}`,
          '--artifacts-destination',
          join(folder, 'artifacts'),
        ],
      ],
      env: { MLFLOW_DISABLE_TELEMETRY: 'true', DO_NOT_TRACK: 'true' },
      healthy: '/health',
    }),
  },
  {
    name: 'Phoenix',
    pins: ['arize-phoenix==20.26.1', 'openinference-instrumentation-openai==0.1.66', OPENAI],
    steps: { script: 'record_phoenix.py', batch: 512 },
    calls: { script: 'calls_phoenix.py', services: 'its server, on SQLite' },
    keeps: 'SQLite, WAL',
    server: async (folder, port) => ({
      args: ['-m', 'phoenix.server.main', 'serve'],
      env: {
        PHOENIX_WORKING_DIR: folder,
        PHOENIX_HOST: '127.0.0.1',
        PHOENIX_PORT: `${port}`,
        PHOENIX_GRPC_PORT: `${await freePort()}`,
        PHOENIX_TELEMETRY_ENABLED: 'false',
      },
      healthy: '/healthz',
    }),
  },
  {
    name: 'Agent Lightning',
    pins: ['agentlightning==0.3.0'],
    steps: { script: 'record_agentlightning.py', batch: 20 }, // a request holds spans of one rollout, which has 20
    calls: null,
    keeps: 'memory',
    server: async (_, port) => ({
      args: ['-m', 'agentlightning.cli.store', '--host', '127.0.0.1', '--port', `${port}`],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
      healthy: '/v1/agl/health',
    }),
  },
  {
    name: 'Langfuse',
    pins: ['langfuse==5.0.4', OPENAI],
    steps: null,
    calls: {
      script: 'calls_langfuse.py',
      services:
        'two servers, Postgres, ClickHouse, Redis and an object store: none was run, a stand-in takes what its client sends',
    },
    keeps: SENT,
    server: standIn,
  },
  {
    name: 'Weave',
    pins: ['weave==0.54.0', OPENAI],
    steps: null,
    calls: {
      script: 'calls_weave.py',
      services: 'a service of Weights & Biases, with ClickHouse: none was run, a stand-in takes what its client sends',
    },
    keeps: SENT,
    server: standIn,
  },
];

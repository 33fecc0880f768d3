import { join } from 'node:path';
import { freePort } from '../../../src/runtime/free-port.ts';

/** A system that is compared: what is installed of it, its server, and the script that records by its client. */
export interface System {
  readonly name: string;
  /** Its package on PyPI. */
  readonly pin: string;
  readonly script: string;
  /** How many spans its client sends at a time: of the settings that it has, the one by which this work is queryable first. */
  readonly batch: number;
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

/** The systems as they are installed from PyPI, each with the storage that it has without further set-up. */
export const SYSTEMS: readonly System[] = [
  {
    name: 'MLflow',
    pin: 'mlflow==3.17.2',
    script: 'record_mlflow.py',
    batch: 1_000,
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
    pin: 'arize-phoenix==20.26.1',
    script: 'record_phoenix.py',
    batch: 512,
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
    pin: 'agentlightning==0.3.0',
    script: 'record_agentlightning.py',
    batch: 20, // a request holds spans of one rollout, which has 20
    keeps: 'memory',
    server: async (_, port) => ({
      args: ['-m', 'agentlightning.cli.store', '--host', '127.0.0.1', '--port', `${port}`],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
      healthy: '/v1/agl/health',
    }),
  },
];

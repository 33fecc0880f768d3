import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runAll } from '../app/run-all.ts';
import { catalogue, TOPICS } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { freePort } from '../runtime/free-port.ts';
import { SILENT } from '../runtime/logger.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL, LOCAL_TOKEN } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { sinksForTests } from '../testing/python.ts';
import { runInProcess } from '../testing/worker-process.ts';

const found = await sinksForTests();
const python = found.kind === 'found' ? found.python : '';

(found.kind === 'found' ? describe : describe.skip)(
  `sinks (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let platform: Awaited<ReturnType<typeof openTestPlatform>>;
    let server: Awaited<ReturnType<typeof runAll>>;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-sinks-'));
      platform = await openTestPlatform();
      server = await runAll(platform, SILENT);
    });
    afterAll(async () => {
      await server?.close();
      await platform?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test('every update is there once for the reader of each system, wherever the sink was killed', async () => {
      const said = await new Promise<string>((resolve) => {
        const command = ['-m', 'unittest', 'discover', '-s', 'tests_sinks', '-t', '.'];
        execFile(python, command, { cwd: 'python', timeout: 540_000, maxBuffer: 16 * 2 ** 20 }, (_error, stdout, stderr) =>
          resolve(stdout + stderr),
        );
      });
      expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK/);
    }, 600_000);

    test('the command posts the versions of a policy of a running server, and none of them again', async () => {
      const declared = await fetch(`${server.url}/v1/training/policies/plotted`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({ backend: 'test', weights: 'a'.repeat(64) }),
      });
      expect(declared.status).toBe(200);
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
      expect(await sink('tensorboard')).toEqual({ code: 0, stdout: 'version 0: 0 metrics\n', stderr: '' });
      expect(await sink('tensorboard')).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await sink('tensorboard', 'ploted')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('there is no policy ploted'),
      });
      expect(await sink('plotter')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('there is no sink "plotter"; choose'),
      });
    });

    test.each(['tensorboard', 'trackio', 'wandb'])(
      'a run that goes on while its sink to %s is killed has every rollout once there, with its return and its link',
      async (system) => {
        const builder = new EventBuilder(`killed ${system}`);
        const runId = builder.run();
        await appendNew(builder);
        const to = join(folder, `killed-${system}`);
        const returns: number[] = [];
        for (let wave = 0; wave < 3; wave++) {
          const child = follow(system, ['--run', runId, '--to', to]);
          for (let i = 0; i < 4; i++) {
            const value = (wave * 4 + i) / 10;
            returns.push(value);
            builder.walk(builder.tree(runId, `${system} ${wave} ${i}`), 0, 2, value);
            await appendNew(builder);
          }
          await child.saying(/rollout/);
          child.process.kill('SIGKILL');
          await child.ended;
        }
        builder.finishRun(runId);
        await appendNew(builder);
        const last = follow(system, ['--run', runId, '--to', to]);
        expect(await last.ended).toBe(0); // it ends with the run
        const found = await readBack(system, to);
        expect(found['espalier/rollout']).toEqual(returns.map((_, i) => [i + 1, i + 1]));
        expect(found['rollout/return']?.map(([, value]) => Number(value).toFixed(1)).sort()).toEqual(
          returns.map((v) => v.toFixed(1)).sort(),
        );
        expect(found['rollout/length']?.every(([, value]) => value === 2)).toBe(true);
        expect(found['episode/length/mean']?.at(-1)).toEqual([returns.length, 2]); // of the whole run, with its last rollout
        expect(found['episode/reward/max']?.at(-1)?.[1]).toBeCloseTo(Math.max(...returns));
        expect(found.links).toHaveLength(returns.length);
        expect(`${found.links?.[0]}`).toMatch(new RegExp(`^${server.url}/view/trajectory/[0-9a-f-]{36}\\?tree=[0-9a-f-]{36}$`));
      },
    );

    test('a sink waits for an MLflow server that is away, ends with a reason when it is stopped, and posts once it is there', async () => {
      const builder = new EventBuilder('away');
      const runId = builder.run();
      builder.walk(builder.tree(runId, 'one'), 0, 2, 1);
      builder.walk(builder.tree(runId, 'two'), 0, 3, 0.5);
      builder.finishRun(runId);
      await appendNew(builder);
      const port = await freePort();
      const to = `http://127.0.0.1:${port}`;
      const waiting = follow('mlflow', ['--run', runId, '--to', to]);
      await waiting.saying(/waits, and tries again: MLflow at/);
      waiting.process.kill('SIGTERM');
      expect(await waiting.ended).toBe(1);
      expect(waiting.said()).toContain('stopped before all was posted');
      expect(waiting.said()).toContain(`MLflow at ${to}`);

      const patient = follow('mlflow', ['--run', runId, '--to', to]);
      await patient.saying(/waits, and tries again/);
      const args = [
        '-m',
        'mlflow',
        'server',
        '--backend-store-uri',
        `sqlite:///${folder}/mlflow.db`,
        '--port',
        `${port}`,
        '--workers',
        '1',
      ];
      const mlflow = spawn(python, args, {
        cwd: folder,
        stdio: 'ignore',
        detached: true,
        env: { ...process.env, MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false' }, // its workers would be left behind
      });
      try {
        expect(await patient.ended).toBe(0);
        expect(patient.said()).toContain('the system answers again');
        const found = await readBack('mlflow', to);
        expect(found['espalier/rollout']).toEqual([
          [1, 1],
          [2, 2],
        ]);
        expect(found['rollout/return']?.map(([, value]) => value).sort()).toEqual([0.5, 1]);
      } finally {
        if (mlflow.pid !== undefined) process.kill(-mlflow.pid, 'SIGKILL');
      }
    });

    const appended = new Map<EventBuilder, number>();
    async function appendNew(builder: EventBuilder): Promise<void> {
      const events = builder.events.slice(appended.get(builder) ?? 0);
      appended.set(builder, builder.events.length);
      await platform.log.append(
        events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })),
      );
    }

    /** Starts the Python process itself, so that a kill meets it and not the command that runs it. */
    function follow(system: string, args: readonly string[]) {
      const env = { ...process.env, ESPALIER_URL: server.url, ESPALIER_TOKEN: LOCAL_TOKEN, XDG_STATE_HOME: folder };
      const child = spawn(python, ['-m', 'espalier_rl.sinks', system, ...args, '--follow'], { cwd: 'python', env });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text;
        });
      const ended = new Promise<number | string>((resolve) =>
        child.once('close', (code, signal) => resolve(code ?? signal ?? '')),
      );
      const saying = async (pattern: RegExp) => {
        for (let i = 0; i < 1_200 && !pattern.test(said); i++) await new Promise((resolve) => setTimeout(resolve, 50));
        expect(said).toMatch(pattern);
      };
      return { process: child, ended, saying, said: () => said };
    }

    async function readBack(system: string, to: string): Promise<Record<string, [number, number][]>> {
      const { stdout } = await promisify(execFile)(python, ['-m', 'tests_sinks.read_back', system, to], { cwd: 'python' });
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    }

    async function sink(system: string, policy = 'plotted') {
      const args = ['sink', system, '--policy', policy, '--to', folder, '--server', server.url];
      const { code, stdout, stderr } = await runInProcess(args, {
        ...environmentOf(platform),
        ESPALIER_SINKS_PYTHON: python,
        XDG_STATE_HOME: folder,
      });
      return { code, stdout, stderr };
    }
  },
);

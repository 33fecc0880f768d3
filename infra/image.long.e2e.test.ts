import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ROLE_NAMES, ROLES } from '../src/app/roles.ts';
import { openEnvironment } from '../src/environments/open-environment.ts';
import type { Platform } from '../src/platform/open-platform.ts';
import { environmentOf } from '../src/testing/crashing-run.ts';
import { kafkaForTests } from '../src/testing/kafka.ts';
import { describeWithKafka } from '../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { pythonForTests } from '../src/testing/python.ts';
import { aTrainPlan } from '../src/testing/train-plan.ts';
import { until } from '../src/testing/until.ts';
import { killRunning, startProgram } from '../src/testing/worker-process.ts';
import { beginTraining } from '../src/usecases/train/train-begin.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUILD_MS = 900_000;
const OFFLINE = { npm_config_prefer_offline: 'true' };
const UID = '12345'; // of nobody: it has no entry in /etc/passwd
const AS_NOBODY = ['--chdir=/', 'setpriv', '--reuid', UID, '--regid', UID, '--clear-groups', '--no-new-privs', '--'];
const torch = await pythonForTests();
const isRoot = process.getuid?.() === 0;

describeWithKafka('the image of the server', () => {
  let folder: string;
  let image: Image;
  beforeAll(async () => {
    folder = await mkdtemp('/tmp/espalier-image-'); // that of a test run is its owner's alone
    await chmod(folder, 0o755);
    const scratch = join(ROOT, '.espalier');
    await mkdir(scratch, { recursive: true });
    const building = await mkdtemp(join(scratch, 'image-'));
    try {
      image = await executeDockerfile('Dockerfile', folder, building);
    } finally {
      await rm(building, { recursive: true });
    }
  }, BUILD_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  let platform: Platform & { readonly home: string };
  beforeEach(async () => {
    platform = await openTestPlatform((await kafkaForTests()).brokers);
  });
  afterEach(async () => {
    await killRunning();
    await platform.close();
  });

  (isRoot ? test : test.skip)(
    'all roles train a policy under a uid without a name, where only the folder of blobs is writable, with a key preset by its hash',
    async () => {
      const blobs = join(folder, 'blobs');
      await mkdir(blobs);
      await run('chown', [UID, blobs]);
      const key = `espalier_${randomBytes(32).toString('base64url')}`;
      const hashFile = join(folder, 'hash');
      await writeFile(hashFile, `${createHash('sha256').update(key).digest('hex')}\n`, { mode: 0o440 });
      await run('chgrp', [UID, hashFile]);
      const linked = join(folder, 'linked');
      await symlink(hashFile, linked); // as Kubernetes mounts a secret
      const { ESPALIER_HOME: _, ...servers } = environmentOf(platform);
      const env = {
        ...servers,
        ...image.env,
        ESPALIER_BLOBS: blobs,
        ESPALIER_FIRST_KEY_HASH_FILE: linked,
        TMPDIR: '/nonexistent',
      };
      const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) => {
        const program = ['env', '--unset=HOME', ...AS_NOBODY, process.execPath, ...image.entrypoint.slice(1), ...words];
        return startProgram(program, words.join(' '), { ...env, ...more });
      };

      const roles = ROLE_NAMES.map((name) => ({
        name,
        child: start(['serve', name], { ESPALIER_PROBE_PORT: '0', ESPALIER_HOST: '0.0.0.0' }),
      }));
      for (const { name, child } of roles) await child.saying(new RegExp(`"message":"${ROLES[name].ready}"`));
      const policy = start(['serve', 'policy', 'random'], { ESPALIER_HOST: '0.0.0.0' });
      await policy.saying(/"message":"serving".*"model":"random"/);
      for (const { child } of roles) {
        const port = (await child.saying(/"message":"probes".*"port":(\d+)/))[1];
        await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
      }
      const api = roles.find(({ name }) => name === 'api')?.child;
      const port = (await api?.saying(/"url":"http:\/\/0\.0\.0\.0:(\d+)"/))?.[1];
      const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } });
      const asset = /\/assets\/[\w.-]+\.js/.exec(await (await ask('/')).text())?.[0];
      expect((await ask(asset ?? '/no-asset')).status).toBe(200);
      expect(await (await ask('/v1/key')).json()).toMatchObject({ name: 'preset', scopes: ['admin'] });

      const plan = aTrainPlan({ updates: 1 });
      const kind = await openEnvironment(plan.environment);
      const planned = await beginTraining(platform, plan, kind);
      await kind.close();
      await run('cp', ['-r', `${platform.config.blobs}/.`, blobs]); // what this process put
      await run('chown', ['-R', UID, blobs]);
      const file = join(folder, 'plan.json');
      await writeFile(file, JSON.stringify(planned));
      const [collector, trainer] = [start(['serve', 'collect', file]), start(['serve', 'train', plan.policyId])];
      await trainer.saying(/"message":"trained".*"version":1/);
      expect(await collector.ended).toBe(0);

      for (const child of [trainer, policy, ...roles.map((each) => each.child)]) {
        child.kill('SIGTERM');
        expect([await child.ended, child.stderr()]).toEqual([
          child === trainer ? 143 : 0, // its work goes on
          expect.not.stringContaining('"level":"error"'),
        ]);
      }
    },
  );

  (isRoot && torch.kind === 'found' ? test : test.skip)(
    'with Python on top, a language model is trained under a uid without a name, where only the home and the temporary folder are writable',
    async () => {
      const trainer = await executeDockerfile('Dockerfile.trainer', folder, '', image);
      const home = join(folder, 'home');
      await mkdir(home);
      const environment = {
        ...environmentOf(platform),
        ...trainer.env,
        ESPALIER_HOME: home,
        ESPALIER_BLOBS: join(home, 'blobs'),
      };
      const env = { ...environment, HOME: join(home, 'tmp'), TMPDIR: join(home, 'tmp'), HF_HOME: join(home, 'huggingface') };
      await mkdir(env.TMPDIR);
      await run('chown', ['-R', UID, home]);
      const start = (...words: readonly string[]) => startProgram(['env', ...AS_NOBODY, ...words], words.join(' '), env);
      const tiny = start(trainer.env.ESPALIER_PYTHON ?? '', '-m', 'espalier_rl.trainer.tiny', '--out', join(home, 'tiny'));
      expect([await tiny.ended, tiny.stderr()]).toEqual([0, expect.not.stringContaining('Error')]);
      const espalier = [process.execPath, ...trainer.entrypoint.slice(1), '--json', 'train', '--backend', 'torch'];
      const few = [
        '--updates',
        '1',
        '--groups',
        '1',
        '--group',
        '2',
        '--max-steps',
        '1',
        '--max-tokens',
        '4',
        '--test-tasks',
        '0',
      ];
      const training = start(...espalier, '--model', join(home, 'tiny'), '--keep-zero-variance', ...few);
      expect([await training.ended, training.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
      expect(JSON.parse(training.stdout())).toMatchObject({ state: 'completed', version: 1 });
    },
  );
});

/** What a container of the image would be: its folders are below one of this machine. */
interface Image {
  readonly env: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
}

/**
 * Executes the steps of a Dockerfile with the Node and the Python of this machine. @param root holds the files of the image, @param building
 * those of the stage that builds it, on the disk of the checkout. @param base the image in `root` that it begins with.
 */
async function executeDockerfile(
  name: string,
  root: string,
  building: string,
  base: Image = { env: {}, entrypoint: [] },
): Promise<Image> {
  const text = await readFile(new URL(name, import.meta.url), 'utf8');
  let [stage, folder] = ['', ''];
  let [env, entrypoint]: [Record<string, string>, readonly string[]] = [{}, base.entrypoint];
  let user = '0';
  const below = (path: string) => path.replace(/(?<=^|[\s="])\/(?=\w)/g, `${stage}/`);
  for (const line of text.split('\n').filter((each) => /^[A-Z]/.test(each))) {
    const [, instruction = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    switch (instruction) {
      case 'FROM':
        stage = join(/ AS build$/.test(rest) ? building : root, 'stage');
        env = { ...base.env };
        break;
      case 'WORKDIR':
        folder = below(rest);
        await mkdir(folder, { recursive: true });
        break;
      case 'COPY': {
        const [, from, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(rest) ?? [];
        const sources = paths.split(' ');
        const target = resolve(folder, below(sources.pop() ?? ''));
        for (const source of sources) await copy(from === undefined ? source : join(building, 'stage', source), target);
        break;
      }
      case 'RUN':
        // The checkout has what the lock says: links to its files, since this installs hundreds of megabytes.
        if (rest === 'npm ci --ignore-scripts') await run('cp', ['-al', join(ROOT, 'node_modules'), folder]);
        else if (rest.startsWith('apt-get '))
          break; // this machine has them
        else if (rest.endsWith(' -r requirements.txt')) await linkPackages(below('/opt/python/bin/python'));
        else await run('sh', ['-c', below(rest)], { cwd: folder, maxBuffer: 1 << 26, env: { ...process.env, ...OFFLINE } });
        break;
      case 'ENV':
        for (const [, name = '', value = ''] of below(rest).matchAll(/(\w+)=(\S+)/g))
          env[name] = value.replace('$PATH', process.env.PATH ?? '');
        break;
      case 'USER':
        expect(rest).toMatch(/^\d+$/); // a name would not tell an orchestrator that it is not root
        user = rest;
        break;
      case 'ENTRYPOINT':
        entrypoint = JSON.parse(below(rest)) as readonly string[]; // by its form
        break;
      case 'ARG':
      case 'CMD':
      case 'VOLUME':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`no step of the test executes ${line}`);
    }
  }
  expect(user).not.toBe('0');
  return { env, entrypoint };
}

/** Gives a Python the packages of that with torch, which are those of the requirements: links, since they are gigabytes. */
async function linkPackages(python: string): Promise<void> {
  const folder = async (of: string) => (await run(of, ['-c', 'import site; print(site.getsitepackages()[0])'])).stdout.trim();
  await run('cp', ['-aln', `${await folder(torch.kind === 'found' ? torch.python : '')}/.`, await folder(python)]);
}

/** Copies as COPY does: of a folder its contents, of the checkout what is not ignored. */
async function copy(source: string, target: string): Promise<void> {
  const tests = "grep -zv '\\.test\\.ts$'"; // infra/Dockerfile.dockerignore
  const script =
    source === '.'
      ? `git ls-files -coz --exclude-standard | ${tests} | tar --null --ignore-failed-read -cT - | tar -xC ${target}`
      : `for each in ${source}; do if [ -d "$each" ]; then each=$each/.; fi; cp -a "$each" ${target}; done`;
  await run('sh', ['-c', script], { cwd: ROOT });
}

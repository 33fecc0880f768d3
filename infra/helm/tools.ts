import { execFile } from 'node:child_process';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const HELM = '3.22.0';
const SCHEMAS = '1.34.1';
export const KUBERNETES = '1.34';
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'espalier');

/** Returns the path of helm; the first time, Go builds it. @throws where neither is there. */
export async function helmProgram(): Promise<string> {
  const folder = join(CACHE, `helm-${HELM}`);
  const program = join(folder, 'helm');
  if (!(await exists(program)))
    await run('go', ['install', `helm.sh/helm/v3/cmd/helm@v${HELM}`], { env: { ...process.env, GOBIN: folder } });
  return program;
}

/** Returns the path of a Python with the schemas of Kubernetes' objects; the first time, pip installs it. */
export async function schemasPython(): Promise<string> {
  const folder = join(CACHE, `kubernetes-validate-${SCHEMAS}`);
  const python = join(folder, 'bin/python');
  if (await exists(join(folder, 'bin/kubernetes-validate'))) return python;
  await mkdir(CACHE, { recursive: true });
  await run('python3', ['-m', 'venv', '--clear', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `kubernetes-validate==${SCHEMAS}`]);
  return python;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

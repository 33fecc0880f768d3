import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packNpm, sumFiles } from './pack-npm.ts';
import { PLATFORMS, packWheels, thisPlatform } from './pack-wheels.ts';

const BUILDING = 'building';
const USAGE = `npm run release -- [--out FOLDER] [--platform NAME|all] [--only npm]

Builds what is published into one folder, empty before: the npm package \`espalier\`, the wheels of \`espalier-rl\` and
\`espalier-rl-server\`, a list of their parts (CycloneDX), the licences of the libraries in them, and SHA256SUMS.
  --out       the folder; release when left out
  --platform  of the server's wheel: ${Object.keys(PLATFORMS).join(', ')}, or all; this machine's when left out
  --only npm  leaves out the wheels
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'release' },
    platform: { type: 'string', default: thisPlatform() },
    only: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
} else {
  const platforms = values.platform === 'all' ? Object.keys(PLATFORMS) : [values.platform];
  const unknown = platforms.find((each) => !Object.hasOwn(PLATFORMS, each));
  if (unknown !== undefined && values.only === undefined) {
    process.stderr.write(`release: no platform ${unknown}; there are ${Object.keys(PLATFORMS).join(', ')}\n`);
    process.exit(2);
  }
  if (values.only !== undefined && values.only !== 'npm') {
    process.stderr.write(`release: --only takes npm, not ${values.only}\n`);
    process.exit(2);
  }
  const out = resolve(values.out);
  const there = await readdir(out).catch((): string[] => []);
  if (there.length > 0 && !there.includes('SHA256SUMS') && !there.includes(BUILDING)) {
    process.stderr.write(`release: ${out} is not empty and holds no release; name a folder of its own by --out\n`);
    process.exit(2);
  }
  const work = join(out, BUILDING);
  await rm(out, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const tarball = await packNpm(work, out);
  if (values.only === undefined) await packWheels({ tarball, work, out, platforms });
  await rm(work, { recursive: true });
  process.stdout.write(await sumFiles(out));
}

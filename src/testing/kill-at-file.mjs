// Loaded by `node --import` into a process that is to be killed at a call of the file system (kill-at.ts).
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { call, path, nth, when } = JSON.parse(process.env.KILL_AT_FILE);
const original = fs.promises[call];
let met = 0;
fs.promises[call] = async (at, ...rest) => {
  if (!new RegExp(path).test(String(at)) || ++met !== nth) return original(at, ...rest);
  if (when === 'after') await original(at, ...rest);
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined); // nothing follows a kill
};
syncBuiltinESMExports();

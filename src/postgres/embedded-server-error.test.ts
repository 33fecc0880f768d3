import { expect, test } from '@jest/globals';
import { folderError, outputError } from './embedded-server-error.ts';

// What initdb and postgres 18.4 wrote on a full file system.
test.each([
  'initdb: error: could not write to file "/d/pg_wal/xlogtemp.17": No space left on device\ninitdb: removing contents of data directory "/d"',
  'FATAL:  could not write lock file "postmaster.pid": No space left on device',
])('a full disk is reported as such, whichever program meets it: %s', (output) => {
  expect(outputError('/home/me/.espalier/postgres', 'postgres', output)).toMatchObject({
    code: 'disk-full',
    message: expect.stringMatching(/no space is left.*\/home\/me\/\.espalier\/postgres.*ESPALIER_HOME.*DATABASE_URL/),
  });
});

test('a full disk met by one of our file operations is reported as such too', () => {
  const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
    path: '/d/password',
  });
  expect(folderError('/d', cause)).toMatchObject({ code: 'disk-full', cause });
});

test('any other failure shows the last lines that the program wrote', () => {
  const output =
    'one\ntwo\nthree\nFATAL:  data directory "/d" has wrong ownership\nHINT:  The server must be started by its owner.\n';
  expect(outputError('/d', 'postgres', output)).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('wrong ownership | HINT'),
  });
});

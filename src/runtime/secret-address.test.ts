import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readSecret } from './named-secret.ts';
import { isHttpAddress, sendAddress } from './secret-address.ts';

const own = process.env;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-secrets-'));
  await mkdir(join(home, 'secrets'));
  process.env = { ...own, ESPALIER_HOME: home, ESPALIER_SECRET_MODEL: 'sk-of-the-model' };
});
afterEach(async () => {
  process.env = own;
  await rm(home, { recursive: true, force: true });
});

const keep = async (name: string, text: string, mode = 0o600) => {
  await writeFile(join(home, 'secrets', name), text);
  await chmod(join(home, 'secrets', name), mode);
};
const sent = (address: string, key?: string) => sendAddress(new URL(address), key);

describe('reading a secret', () => {
  test('a secret is the variable of its name, or else its file without the line end', async () => {
    await keep('MODEL', 'sk-of-the-file\n');
    await keep('FILE_1', 'sk-of-the-file\n');
    expect([readSecret('MODEL'), readSecret('FILE_1')]).toEqual(['sk-of-the-model', 'sk-of-the-file']);
  });

  test('a secret that is missing is refused with both places where it may be', () => {
    expect(() => readSecret('OTHER')).toThrow(
      'the secret OTHER is missing; set ESPALIER_SECRET_OTHER, or write it to the file secrets/OTHER in ESPALIER_HOME with mode 600',
    );
  });

  test('a file that other accounts may read is refused without what it holds', async () => {
    await keep('OPEN', 'sk-of-everybody', 0o644);
    expect(() => readSecret('OPEN')).toThrow(/^the secret OPEN is in a file that other accounts may read; (?!.*everybody)/);
  });

  const asRoot = process.getuid?.() === 0 ? test : test.skip;
  asRoot('a file of root may be read by its group, as Kubernetes mounts it, and one of another account may not', async () => {
    await keep('MOUNTED', 'sk-of-the-pod', 0o440);
    expect(readSecret('MOUNTED')).toBe('sk-of-the-pod');
    await chown(join(home, 'secrets', 'MOUNTED'), 65_534, 0);
    expect(() => readSecret('MOUNTED')).toThrow(/other accounts may read/);
  });

  test.each(['', 'two\nlines', 'sk-sécret'])(
    'a secret that no header can hold is refused without being shown: %j',
    async (text) => {
      await keep('WRONG', text);
      expect(() => readSecret('WRONG')).toThrow(/^the secret WRONG is empty, or holds line ends(?!.*cret)/);
    },
  );

  test('a secret that is replaced counts from the next request on', async () => {
    await keep('TURN', 'first-value');
    const before = sent('http://secret:TURN@host/').headers;
    await keep('TURN', 'other-value');
    expect([before, sent('http://secret:TURN@host/').headers]).toEqual([
      { authorization: 'Bearer first-value' },
      { authorization: 'Bearer other-value' },
    ]);
  });
});

describe('addresses that name secrets', () => {
  test('an address without a name is sent as it is', () => {
    const { url, headers, hide } = sent('https://host:8000/v1?a=b');
    expect([url.href, headers, hide('sk-of-the-model')]).toEqual(['https://host:8000/v1?a=b', {}, 'sk-of-the-model']);
  });

  test('a name in the place of the user becomes a bearer key, or the whole header where the secret has a scheme', async () => {
    await keep('BASIC', 'Basic bWU6d29yZA==');
    const { url, headers } = sent('https://secret:MODEL@host/v1');
    expect([url.href, headers]).toEqual(['https://host/v1', { authorization: 'Bearer sk-of-the-model' }]);
    expect(sent('https://secret:BASIC@host/v1').headers).toEqual({ authorization: 'Basic bWU6d29yZA==' });
  });

  test('a name in a parameter is replaced by the secret', () => {
    expect(sent('https://host/v1?api_key=secret:MODEL&k=5').url.href).toBe('https://host/v1?api_key=sk-of-the-model&k=5');
  });

  test('a name alone is an address, and what follows it its path', async () => {
    await keep('PLACE', 'https://me:pass-word@inner.example:8443/base/?token=tok-of-it');
    const { url, headers } = sent('secret:PLACE/step?id=3');
    expect(url.href).toBe('https://inner.example:8443/base/step?token=tok-of-it&id=3');
    expect(headers).toEqual({ authorization: `Basic ${Buffer.from('me:pass-word').toString('base64')}` });
    expect([isHttpAddress('secret:PLACE'), isHttpAddress('secret:place'), isHttpAddress('ftp://host')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('a name alone that stands for no address is refused without what it holds', () => {
    expect(() => sent('secret:MODEL')).toThrow(/^the secret MODEL stands for an address and is no http URL(?!.*sk-)/);
  });

  test('a key by name, or in the clear, comes before that of the address', () => {
    expect(sent('https://host/v1', 'secret:MODEL').headers).toEqual({ authorization: 'Bearer sk-of-the-model' });
    expect(sent('https://secret:MODEL@host/v1', 'plain-key').headers).toEqual({ authorization: 'Bearer plain-key' });
  });
});

test('what a server says shows names in the place of secrets, and of all that a secret address holds', async () => {
  await keep('PLACE', 'https://me:pass-word@inner.example:8443/base?token=tok-of-it');
  await keep('QUOTED', 'a"b\\c/d e+f');
  const model = sent('https://secret:MODEL@host/v1').hide;
  expect(model('Incorrect key sk-of-the-model.')).toBe('Incorrect key secret:MODEL.');
  const { hide } = sent('secret:PLACE');
  expect(hide('getaddrinfo ENOTFOUND inner.example')).toBe('getaddrinfo ENOTFOUND secret:PLACE');
  expect(hide('me:pass-word, tok-of-it at https://inner.example:8443/base')).toBe(
    'me:secret:PLACE, secret:PLACE at secret:PLACE/base',
  );
  const quoted = sent('https://host/?key=secret:QUOTED').hide;
  expect(quoted(JSON.stringify({ said: 'a"b\\c/d e+f' }))).toBe('{"said":"secret:QUOTED"}');
});

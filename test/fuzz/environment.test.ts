/** A node's settings from the environment and from files beside the cluster file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';
import { parsePeerUrl } from '@isochron/transport';
import fc from 'fast-check';
import { Authenticator } from '../../server/src/auth/authenticator.js';
import { apiKeysFromEnv } from '../../server/src/auth/hook.js';
import { parseClusterFile } from '../../server/src/config/cluster-file.js';
import { peeringOf } from '../../server/src/config/peering.js';
import { loadSecrets, MIN_SECRET_LENGTH } from '../../server/src/config/secret.js';
import { fuzz } from './fuzz.js';

const folder = mkdtempSync(join(tmpdir(), 'isochron-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nodeOf = (id: string, port: number) =>
  `{ id: ${id}, api: "http://127.0.0.1:${port}", peer: "ws://127.0.0.1:${port + 1}" }`;
const cluster = parseClusterFile(
  `protocol: paris
regions: [{ id: r, nodes: [${nodeOf('a', 1)}, ${nodeOf('b', 3)}, ${nodeOf('c', 5)}] }]
keyspaces: [{ name: default, partitions: 1 }]`,
  'environment.yaml',
);

/** A function's result, or the code of its refusal. */
function outcome<T>(act: () => T): { value: T } | { code: string } {
  try {
    return { value: act() };
  } catch (error) {
    if (error instanceof IsochronError) return { code: error.code };
    throw error;
  }
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 10, maxLength: 40 }));

describe('the environment', () => {
  /** One secret or two, one a line, each long enough. */
  const secretsIn = (given: string) => {
    const [secret, secondSecret, ...more] = given.split(/\r?\n/);
    const good = more.length === 0 && [secret, secondSecret].every((one = secret!) => one.length >= MIN_SECRET_LENGTH);
    return good ? { value: { secret, secondSecret } } : { code: 'CONFIG_INVALID' };
  };
  const lines = fc.array(text, { minLength: 1, maxLength: 3 }).map((all) => all.join('\n'));

  fuzz('lines give one secret or two unchanged, or an error with the reason', 500, [lines], (given) => {
    expect(outcome(() => loadSecrets({ env: { ISOCHRON_SECRET: given } }))).toEqual(secretsIn(given));
  });

  fuzz(
    'a file of any bytes gives one secret or two, or an error with the reason',
    200,
    [fc.uint8Array({ maxLength: 60 })],
    (bytes) => {
      const secretFile = join(folder, 'secret');
      writeFileSync(secretFile, bytes, { mode: 0o600 });
      expect(outcome(() => loadSecrets({ secretFile }))).toEqual(secretsIn(Buffer.from(bytes).toString('utf8').trim()));
    },
  );

  fuzz('every missing secret file is refused with the same code', 200, [text], (name) => {
    expect(outcome(() => loadSecrets({ secretFile: join(folder, 'nowhere', `x${name}`) }))).toEqual({
      code: 'CONFIG_INVALID',
    });
    expect(outcome(() => loadSecrets({ secretFile: folder }))).toEqual({ code: 'CONFIG_INVALID' });
  });

  const url = fc.oneof(text, fc.constantFrom('ws://h:1', 'ws://[::1]:65535', 'ws://h:65536', 'wss://h:1'));
  const dial = fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__'), text), url, { maxKeys: 3 });
  const host = fc.oneof(
    text,
    fc.constantFrom('0.0.0.0:7201', '[::1]:1', 'h:65535', 'h:65536', ':1', 'ws://h:1', 'a@b:1'),
  );
  fuzz(
    'the addresses on which a node listens and dials are accepted, or refused with a code',
    300,
    [host, dial],
    (listen, peers) => {
      const given = outcome(() => peeringOf(cluster, 'a', { listen, dial: peers }));
      if ('code' in given) {
        expect(given.code).toBe('CONFIG_INVALID');
        return;
      }
      const ports = [given.value.listen.port, ...given.value.peers.map(({ url }) => parsePeerUrl(url).port)];
      for (const port of ports) expect(Number.isInteger(port) && port >= 0 && port < 65_536).toBe(true);
      expect(given.value.peers.map(({ node }) => node)).toEqual(['b', 'c']);
    },
  );

  fuzz(
    'only a caller with one of the API keys is admitted',
    500,
    [fc.array(text, { maxLength: 5 }), text, fc.nat()],
    (keys, guess, pick) => {
      const listed = apiKeysFromEnv({ ISOCHRON_API_KEYS: keys.join(',') });
      const authenticator = new Authenticator({ apiKeys: listed, secret: 'a secret of the cluster' });
      const principalOf = (credentials: string | undefined): string | undefined => {
        let id: string | undefined;
        authenticator.authenticate(credentials, (result) => {
          if (!(result instanceof IsochronError)) ({ id } = result);
        });
        return id;
      };
      for (const credentials of [guess, `${guess} `, undefined]) {
        const isAdmitted = principalOf(credentials) !== undefined;
        expect(isAdmitted).toBe(listed.length === 0 || (credentials !== undefined && listed.includes(credentials)));
      }
      const key = listed[pick % Math.max(1, listed.length)];
      if (key !== undefined) expect(principalOf(key)).toMatch(/^key:[0-9a-f]{8}$/);
    },
  );
});

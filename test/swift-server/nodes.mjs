// The peer of the tests of credentials and access rules: a cluster of real processes in two regions, which accepts the
// tokens of one issuer alone and follows `rules.yaml`. The issuer is here: `GET /token?user=NAME&seconds=NUMBER` signs
// a token of that life, and `GET /forged?…` one with a key that the nodes do not know. Once the nodes are ready it
// prints `{"endpoints":[…],"issuer":"http://127.0.0.1:PORT"}`, the nodes by region. It ends when its standard input
// ends.

import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Cluster, cleanUp } from '../dist/e2e/harness.js';

const REGIONS = ['virginia', 'ireland'];
const RULES = fileURLToPath(new URL('rules.yaml', import.meta.url));
const ISSUER = 'https://login.example';
const AUDIENCE = 'isochron';

const [known, unknown] = ['P-256', 'P-256'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }));

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token (JWT, ES256) of a user that is valid for this many seconds, to the millisecond. */
function tokenOf(user, seconds, key) {
  const now = Date.now() / 1000;
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: user, iat: Math.floor(now), exp: now + seconds };
  const signed = `${part({ alg: 'ES256', typ: 'JWT' })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

const keys = { '/token': known.privateKey, '/forged': unknown.privateKey };

const issuer = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const key = keys[pathname];
  if (key === undefined) response.writeHead(404).end();
  else response.end(tokenOf(searchParams.get('user'), Number(searchParams.get('seconds') ?? 3600), key));
});

/** The file of `--auth`: one issuer, whose tokens end on time. JSON is YAML. */
function writeAuth(folder) {
  const jwk = known.publicKey.export({ format: 'jwk' });
  const issuers = [{ issuer: ISSUER, audience: AUDIENCE, keys: [jwk], clockToleranceS: 0 }];
  const path = join(folder, 'auth.yaml');
  writeFileSync(path, JSON.stringify({ issuers }));
  return path;
}

let hasEnded = false;
const end = async (code) => {
  if (hasEnded) return;
  hasEnded = true;
  await cleanUp();
  process.exit(code);
};
process.stdin.resume();
process.stdin.on('end', () => end(0));
try {
  const cluster = await Cluster.prepare({ regions: REGIONS, cluster: 'swift-access' });
  const args = ['--auth', writeAuth(cluster.folder), '--rules', RULES];
  for (const { id } of cluster.nodes) cluster.launch(id, { args });
  await cluster.ready();
  issuer.listen(0, '127.0.0.1', () => {
    const endpoints = REGIONS.map((region) => cluster.endpoint(region));
    console.log(JSON.stringify({ endpoints, issuer: `http://127.0.0.1:${issuer.address().port}` }));
  });
} catch (error) {
  if (!hasEnded) console.error(error);
  await end(1);
}

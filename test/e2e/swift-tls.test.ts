/** The Swift SDK and three regions with TLS. */
import { join } from 'node:path';
import type { IsochronError } from '@isochron/core';
import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { SWIFT_INPUTS, whenChanged } from './package-checks.js';
import { prepareSwift, type SwiftClient, SwiftDriver } from './swift-client.js';
import { until } from './until.js';

jest.setTimeout(900_000);

const check = whenChanged(...SWIFT_INPUTS, 'test/e2e/swift-tls.test.ts');
afterAll(cleanUp);

let cluster: Cluster;
let driver: SwiftDriver;
/** Why Swift is not available. */
let problem: string | undefined;

beforeAll(async () => {
  problem = await prepareSwift();
  if (problem !== undefined) return;
  driver = new SwiftDriver();
  cluster = await Cluster.start({ tls: true, cluster: 'swift-tls' });
});
afterAll(() => driver?.end());

/** Continuous integration must have Swift. */
const withSwift = (test: () => Promise<void>) =>
  logged(async () => {
    if (problem === undefined) return test();
    if (process.env.CI) throw new Error(`there is no Swift: ${problem}`);
    console.warn(`not run: ${problem}`);
  });

const isLost = (end: SwiftClient | IsochronError): boolean => 'code' in end && end.code === 'CONNECTION_LOST';

const open = (ca: string | undefined, ...regions: readonly string[]): Promise<SwiftClient> =>
  driver.connect(
    regions.map((region) => cluster.endpoint(region)),
    ca === undefined ? {} : { ca },
  );

describe('a Swift client of a cluster with TLS', () => {
  check(
    'a Swift client with the authority of the cluster writes and reads over TLS, and a TypeScript client sees it',
    withSwift(async () => {
      const swift = await open(cluster.ca, 'virginia');
      await swift.transaction(async (tx) => {
        tx.set('a', 'from Swift');
        tx.set('b', 'from Swift');
      });
      const session = JSON.stringify(await swift.session.export());
      const typescript = await connect({ endpoints: [cluster.endpoint('ireland')], session, ca: cluster.ca });
      expect(await typescript.getMany(['a', 'b'])).toEqual(['from Swift', 'from Swift']);
      await Promise.all([swift.close(), typescript.close()]);
    }),
  );

  check(
    'a Swift client of another authority, or with that of the system alone, gets TLS_FAILED and the reason',
    withSwift(async () => {
      const other = await Cluster.prepare({ tls: true, regions: ['virginia'], cluster: 'another' });
      for (const ca of [other.ca, undefined])
        await expect(open(ca, 'virginia')).rejects.toMatchObject({
          code: 'TLS_FAILED',
          message: expect.stringMatching(/authority of the certificate of 127\.0\.0\.1 is not accepted/),
        });
      await expect(open('no certificate', 'virginia')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    }),
  );

  check(
    'a Swift client goes on over TLS in another region when its node is killed, and over new certificates',
    withSwift(async () => {
      const swift = await open(cluster.ca, 'oregon', 'virginia');
      await swift.set('moving', 'before');
      await cluster.kill('oregon-1');
      await swift.set('moving', 'in another region');
      await cluster.certify('renew');
      await cluster.restart('oregon-1');
      const session = JSON.stringify(await swift.session.export());
      const other = await driver.connect([cluster.endpoint('oregon')], { ca: cluster.ca, session });
      expect(await other.getMany(['moving'])).toEqual(['in another region']);
      await swift.set('moving', 'on the old connection');
      await Promise.all([swift.close(), other.close()]);
    }),
  );

  check(
    'a Swift client does not accept a node with the certificate of another host',
    withSwift(async () => {
      await cluster.certify('create', '--host', 'node.example');
      const files = ['--tls-cert', join(cluster.certificates, 'api.pem')];
      await cluster.kill('ireland-1');
      cluster.launch('ireland-1', { args: [...files, '--tls-key', join(cluster.certificates, 'api-key.pem')] });
      const refusal = () => open(cluster.ca, 'ireland').catch((error: IsochronError) => error);
      await until('the node listens', async () => !isLost(await refusal()));
      expect(await refusal()).toMatchObject({
        code: 'TLS_FAILED',
        message: expect.stringMatching(/the certificate of the server is not for 127\.0\.0\.1/),
      });
    }),
  );
});

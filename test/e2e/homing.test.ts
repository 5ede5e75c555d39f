import { connect } from '@isochron/sdk';
import { TcpProxy } from '@isochron/testing/transport/tcp-proxy';
import { Cluster, cleanUp, logged } from './harness.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const FAR_MS = 25;

describe('a client whose nearest region fails', () => {
  it(
    'a client whose nearest region fails goes on in another, and returns with its open transaction when the region is back',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia', 'oregon'] });
      // Oregon lies far away from this client.
      const proxy = await TcpProxy.open(Number(new URL(cluster.endpoint('oregon')).port));
      proxy.delay({ there: FAR_MS, back: FAR_MS });
      const endpoints = [cluster.endpoint('virginia'), `http://127.0.0.1:${proxy.port}`];
      const client = await connect({ endpoints, returnAfterMs: 50 });
      try {
        expect(client.status.region).toBe('virginia');
        await (await client.set('a', 'old')).stable();
        const { result } = await client.transaction(async (tx) => {
          const first = await tx.get('a');
          await cluster.kill('virginia-1');
          const abroad = await tx.get('none');
          const { region } = client.status;
          await cluster.restart('virginia-1');
          await until('the client is back', () => client.status.region === 'virginia');
          await overtake(cluster);
          tx.set('b', 1);
          return [first, abroad, region, await tx.getMany(['a', 'c'])];
        });
        expect(result).toEqual(['old', undefined, 'oregon', ['old', undefined]]);
        expect(await client.getMany(['a', 'b', 'c'])).toEqual(['new', 1, 1]);
      } finally {
        await client.close();
        await proxy.close();
      }
      await cluster.stop();
    }),
  );
});

/** Another client changes what the transaction has read, and adds to it. */
async function overtake(cluster: Cluster): Promise<void> {
  const other = await connect({ endpoints: [cluster.endpoint('oregon')] });
  try {
    const { write } = await other.transaction((tx) => {
      tx.set('a', 'new');
      tx.set('c', 1);
    });
    await write!.stable();
  } finally {
    await other.close();
  }
}

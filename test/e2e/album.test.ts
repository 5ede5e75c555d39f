/** The album over three regions: no reader sees a photo that was added after its removal (AR1). */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type IsochronClient, type IsochronError } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { until } from './until.js';

jest.setTimeout(180_000);

const KEYS = { ann: 'ann-0123456789', ben: 'ben-0123456789' };
const REGIONS = ['virginia', 'oregon', 'ireland'];
const ROUNDS = 12;
/** The round in which a node is killed. */
const KILL = 4;

const idOf = (key: string): string => `key:${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
const [ann, ben] = [idOf(KEYS.ann), idOf(KEYS.ben)];

const RULES = `
rules:
  - name: owners-make-albums
    match: default/albums/{album}
    allow: [create]
    when: incoming.owner == auth.id
  - name: owners-keep-albums
    match: default/albums/{album}
    allow: [get, update]
    when: document.owner == auth.id
  - name: owners-add-photos
    match: default/photos/{album}/{photo}
    allow: [create]
    when: get('default/albums/' + album).owner == auth.id
  - name: readers-see-photos
    match: default/photos/{album}/{photo}
    allow: [get, list]
    when: auth.id in get('default/albums/' + album).readers
`;

interface Photo {
  readonly secret: boolean;
}

let folder: string;
const clients: IsochronClient[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-album-'));
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await cleanUp();
  rmSync(folder, { recursive: true });
});

async function clientOf(endpoints: readonly string[], key: string): Promise<IsochronClient> {
  const client = await connect({
    endpoints: [...endpoints],
    credentials: key,
    requestTimeoutMs: 20_000,
    commitTimeoutMs: 60_000,
  });
  clients.push(client);
  return client;
}

/** Reads and watches an album until its end: the secret photos that it was shown, and why its live query ended. */
function lookOn(client: IsochronClient, album: string) {
  const seen = { shown: 0, secrets: [] as string[], ended: undefined as string | undefined };
  const photos = client.collection<Photo>(`photos/${album}`);
  const take = (way: string, documents: readonly (Photo | undefined)[]): void => {
    for (const photo of documents) {
      if (photo !== undefined) seen.shown++;
      if (photo?.secret === true) seen.secrets.push(way);
    }
  };
  let goes = true;
  const reading = (async () => {
    while (goes) {
      await photos.getMany(['first', 'secret']).then(
        (all) => take('a read', all),
        () => undefined,
      );
      try {
        for await (const { value } of photos.list()) take('a list', [value]);
      } catch {
        // Refused, or its node was killed.
      }
      await delay(5);
    }
  })();
  const unwatch = client.live(
    { all: photos.watch() },
    ({ all }) =>
      take(
        'a live query',
        all.documents.map(({ value }) => value),
      ),
    ({ code }: IsochronError) => {
      seen.ended = code;
    },
  );
  const end = async (): Promise<typeof seen> => {
    goes = false;
    unwatch();
    await reading;
    return seen;
  };
  return { seen, end };
}

describe('the album', () => {
  it(
    'a reader who was removed is shown no later photo in any region, by any way of reading, while a node is killed (AR1)',
    logged(async () => {
      const rules = join(folder, 'rules.yaml');
      writeFileSync(rules, RULES);
      const env = { ISOCHRON_API_KEYS: Object.values(KEYS).join(',') };
      const cluster = await Cluster.start({ env, args: ['--rules', rules] });
      const owner = await clientOf(cluster.endpoints('virginia'), KEYS.ann);
      const readers = await Promise.all(REGIONS.map((region) => clientOf(cluster.endpoints(region), KEYS.ben)));
      for (let round = 0; round < ROUNDS; round++) {
        const album = `a${round}`;
        await owner.set(`albums/${album}`, { owner: ann, readers: [ann, ben] });
        // At once: the snapshots of its node may not have the album yet (AR3).
        const first = await owner.set(`photos/${album}/first`, { secret: false });
        await first.stable({ timeoutMs: 60_000 });
        const views = readers.map((reader) => lookOn(reader, album));
        await until('every reader was shown the first photo', () => views.every(({ seen }) => seen.shown > 1));
        // A commit under way may stay undecided until the node is back.
        const killed = round === KILL ? cluster.kill('oregon-1').then(() => cluster.restart('oregon-1')) : undefined;
        await owner.set(`albums/${album}`, { owner: ann, readers: [ann] });
        const secret = await owner.set(`photos/${album}/secret`, { secret: true });
        await killed;
        await secret.stable({ timeoutMs: 60_000 });
        expect(await owner.get(`photos/${album}/secret`)).toEqual({ secret: true });
        await until('every live query has ended', () => views.every(({ seen }) => seen.ended !== undefined));
        for (const { end } of views) {
          const { secrets, ended } = await end();
          expect({ round, secrets, ended }).toEqual({ round, secrets: [], ended: 'PERMISSION_DENIED' });
        }
        await expect(readers[2]!.get(`photos/${album}/first`)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
      }
    }),
  );
});

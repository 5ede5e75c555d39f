import { IsochronError, Update } from '@isochron/core';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { runChanges } from './changes.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

/** Runs the command while `meanwhile` runs, and returns its output. */
async function changes(
  options: object = {},
  meanwhile?: (stdout: () => string, stderr: () => string) => Promise<void>,
) {
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  const [stdout, stderr] = spies.map((spy) => () => spy.mock.calls.map(([text]) => String(text)).join(''));
  try {
    const run = runChanges({ endpoint: [api.url], follow: false, json: false, ...options });
    await Promise.all([run, meanwhile?.(stdout!, stderr!)]);
    return { lines: stdout!().split('\n').slice(0, -1), stderr: stderr!() };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(condition()).toBe(true);
}

const interrupt = (): void => {
  process.emit('SIGINT');
};

const isRead = (): boolean => api.node.calls.some(({ request }) => request.type === 'ChangesReq');

const cursorIn = (lines: readonly string[]): string => /^cursor (\S+)$/.exec(lines.at(-1)!)![1]!;

/** Every kind of write, after a cursor. */
async function writes(): Promise<string> {
  const since = cursorIn((await changes()).lines);
  api.cluster.put('default/a\tb', '{"n":1}');
  api.cluster.put('default/b', Uint8Array.of(1, 2));
  api.cluster.put('default/b', null);
  api.cluster.stabilise();
  return since;
}

describe('isochron changes', () => {
  it('changes without a beginning prints the cursor of the present end alone', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    expect((await changes()).lines).toEqual([expect.stringMatching(/^cursor \S+$/)]);
  });

  it('changes prints a line for each transaction, and the cursor that goes on behind them', async () => {
    const since = await writes();
    const { lines } = await changes({ since });
    expect(lines.map((line) => line.split('\t').slice(2))).toEqual([
      ['"default/a\\tb" = {"n":1}'],
      ['"default/b" = (2 bytes)'],
      ['"default/b" deleted'],
      [],
    ]);
    expect((await changes({ since: cursorIn(lines) })).lines).toHaveLength(1);
  });

  it('changes --json prints the messages as the node gave them, each with its cursor', async () => {
    const since = await writes();
    api.cluster.put('default/c', '1e+21');
    api.cluster.stabilise();
    const { lines } = await changes({ since, json: true });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"value":1e+21}');
    const { cursor } = JSON.parse(lines[0]!) as { cursor: string };
    expect((await changes({ since: cursor, json: true })).lines).toHaveLength(1);
  });

  it('changes --values and --before print the documents after updates and before writes', async () => {
    const at = api.cluster.put('default/a', '{"n":1}');
    api.cluster.put('default/a', new Update('[{"op":"increment","path":"/n","by":1}]'));
    api.cluster.put('default/a', Uint8Array.of(1));
    api.cluster.put('default/a', null);
    api.cluster.stabilise();
    const { lines } = await changes({ at, values: true, before: true });
    expect(lines.map((line) => line.split('\t')[2])).toEqual([
      '"default/a" updated by [{"op":"increment","path":"/n","by":1}], to {"n":2}, before: {"n":1}',
      '"default/a" = (1 bytes), before: {"n":2}',
      '"default/a" deleted, before: (1 bytes)',
      undefined,
    ]);
  });

  it('changes --at begins behind a snapshot, and reads one keyspace and prefix', async () => {
    const at = api.cluster.put('default/a/1', '1');
    api.cluster.put('default/a/2', '2');
    api.cluster.put('default/b/3', '3');
    api.cluster.stabilise();
    const { lines } = await changes({ at, keyspace: 'default', prefix: 'a/' });
    expect(lines.map((line) => line.split('\t')[2])).toEqual(['"default/a/2" = 2', undefined]);
  });

  it('changes --follow prints what comes, and ends with the cursor when it is interrupted', async () => {
    const { lines } = await changes({ follow: true }, async (stdout) => {
      await until(isRead);
      api.cluster.put('default/a', '1');
      api.cluster.stabilise();
      await until(() => stdout().includes('default/a'));
      interrupt();
    });
    expect(lines).toEqual([expect.stringContaining('"default/a" = 1'), expect.stringMatching(/^cursor /)]);
  });

  it('changes --follow goes on at the next endpoint from its last cursor when a node is lost', async () => {
    const since = cursorIn((await changes()).lines);
    const other = await startApi({ cluster: api.cluster });
    const { lines } = await changes({ follow: true, since, endpoint: [api.url, other.url] }, async (stdout) => {
      await until(isRead);
      await api.close();
      api.cluster.put('default/a', '1');
      api.cluster.stabilise();
      await until(() => stdout().includes('default/a'));
      interrupt();
    });
    expect(lines).toHaveLength(2);
    await other.close();
  });

  it('changes --follow ends on CHANGES_GONE with the commands that go on', async () => {
    const following = changes({ follow: true }, async () => {
      await until(isRead);
      api.node.failNext = new IsochronError('CHANGES_GONE', 'The log begins at 7.');
      api.cluster.put('default/a', '1');
      api.cluster.stabilise();
    });
    await expect(following).rejects.toMatchObject({
      code: 'CHANGES_GONE',
      message: expect.stringMatching(/^The log begins at 7\. \(isochron export .* isochron changes --at SNAPSHOT\)$/),
    });
  });

  it('changes fails when no endpoint answers at its beginning, also with --follow', async () => {
    const endpoint = ['http://127.0.0.1:1'];
    for (const follow of [false, true])
      await expect(changes({ endpoint, follow })).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  });
});

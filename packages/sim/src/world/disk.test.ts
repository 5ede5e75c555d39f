import type { AppliedRecord, DurableRecord, KeyWrite } from '@isochron/core';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { Disk } from './disk.js';

const applied = (ct: number, txId: string, writes: readonly KeyWrite[]): AppliedRecord => ({
  kind: 'applied',
  partition: 0,
  ct,
  tx: { txId, writes },
  region: 'r',
  log: 'own',
});
const meta = (name: string, value: number): DurableRecord => ({ kind: 'meta', name, value });
const version = (ts: number): DurableRecord => ({
  kind: 'version',
  partition: 0,
  key: 'default/a',
  version: { ts, txId: `t${ts}`, region: 'r', value: `v${ts}` },
});

function opened(lateHorizons = false) {
  const time = new VirtualTime();
  const durable: number[] = [];
  const disk = new Disk(time, { syncMs: () => 10 }, lateHorizons, (records) => durable.push(records.length));
  disk.recover();
  return { time, disk, durable, run: (ms: number) => time.runUntil(time.now + ms, () => false) };
}

describe('a disk', () => {
  it('a simulated disk shows a batch at once, and reports it when it is synced', () => {
    const { disk, durable, run } = opened();
    let done = false;
    disk.persist([version(5)], () => {
      done = true;
    });
    expect([disk.store.read(0, 'default/a', 9)?.ts, done, durable]).toEqual([5, false, []]);
    run(10);
    expect([done, durable]).toEqual([true, [1]]);
  });

  it('a simulated disk loses the batch on its way in a crash, or keeps all of it, and does not report it', () => {
    for (const survives of [false, true]) {
      const { disk, durable, run } = opened();
      let done = false;
      disk.persist([meta('a', 1)], () => {});
      run(10);
      disk.persist([meta('a', 2), version(5)], () => {
        done = true;
      });
      run(5);
      disk.crash(survives);
      expect(disk.recover().meta.get('a')).toBe(survives ? 2 : 1);
      expect(disk.store.read(0, 'default/a', 9)?.ts).toBe(survives ? 5 : undefined);
      run(100);
      expect([done, durable]).toEqual([false, survives ? [1, 2] : [1]]);
    }
  });

  it('a simulated disk gives a new process everything that was durable', () => {
    const { disk, run } = opened();
    const record = {
      pt: 3,
      home: 'r',
      attempt: 0,
      sentAfter: 1,
      map: 0,
      cohorts: [0],
      digest: 'd',
      coordinator: 'n',
    };
    const writes = [{ key: 'default/a', value: '1' }];
    disk.persist(
      [
        version(5),
        version(7),
        { kind: 'prepared', partition: 0, txId: 'p', record: { ...record, writes } },
        { kind: 'outcome', partition: 0, txId: 'o', record: { status: 'aborted', ts: 4, attempt: 1, digest: null } },
        applied(7, 't7', writes),
        { kind: 'horizon', partition: 0, horizon: 'gcFloor', upTo: 6 },
      ],
      () => {},
    );
    run(10);
    disk.crash(false);
    const recovered = disk.recover();
    expect(recovered.prepared.map(({ txId }) => txId)).toEqual(['p']);
    expect(recovered.meta.get('gcFloor/0')).toBe(6);
    expect(recovered.logEnds.get(0)).toBe(7);
    expect(disk.store.outcome(0, 'o')?.attempt).toBe(1);
    expect(disk.store.log(0, 0, 10).groups.map(({ ct }) => ct)).toEqual([7]);
    expect([5, 7].map((at) => disk.store.read(0, 'default/a', at)?.ts)).toEqual([5, 7]);
  });

  it('a simulated disk gives a new process the same wherever between two checkpoints the crash falls', () => {
    const { disk, run } = opened();
    const writes = [{ key: 'default/a', value: '1' }];
    const record = {
      pt: 3,
      home: 'r',
      attempt: 0,
      sentAfter: 1,
      map: 0,
      cohorts: [0],
      digest: 'd',
      coordinator: 'n',
    };
    for (let n = 1; n <= 100; n++) {
      const txId = `t${n}`;
      disk.persist([{ kind: 'prepared', partition: 0, txId, record: { ...record, writes } }], () => {});
      run(10);
      disk.crash(false);
      const [prepared] = disk.recover().prepared;
      // The log names the prepare in place of the writes.
      const outcome = { attempt: record.attempt, digest: record.digest };
      const end = { ...applied(n, txId, prepared!.record.writes), outcome, prepared: true };
      disk.persist([end], () => {});
      run(10);
      disk.crash(false);
      expect(disk.recover().prepared).toEqual([]);
      expect(disk.store.read(0, 'default/a', n)?.ts).toBe(n);
      expect(disk.store.log(0, n - 1, n).groups).toEqual([{ ct: n, txs: [{ txId, writes }] }]);
    }
    expect(disk.store.log(0, 0, 100).groups).toHaveLength(100);
  });

  it('a simulated disk copies durable data alone for other nodes', () => {
    const { disk, run } = opened();
    const { reader } = disk;
    disk.persist([version(5)], () => {});
    expect([reader.read(0, 'default/a', 9)?.ts, reader.copy(0, '').chains]).toEqual([5, []]);
    run(10);
    expect(reader.copy(0, '').chains).toHaveLength(1);
  });

  it('a simulated disk lets horizons take effect with their batch where the plan has it so', () => {
    for (const late of [false, true]) {
      const { disk, run } = opened(late);
      disk.persist([applied(7, 't', [])], () => {});
      run(10);
      disk.persist([{ kind: 'horizon', partition: 0, horizon: 'logTruncatedUpTo', upTo: 7 }], () => {});
      expect(disk.store.log(0, 0, 10).groups).toHaveLength(late ? 1 : 0);
      run(10);
      expect(disk.store.log(0, 0, 10).groups).toHaveLength(0);
    }
  });

  it('a simulated disk completes nothing while it is stalled', () => {
    const { disk, run } = opened();
    let done = false;
    disk.stall(true);
    disk.persist([meta('a', 1)], () => {
      done = true;
    });
    run(1_000);
    expect(done).toBe(false);
    disk.stall(false);
    expect(done).toBe(true);
  });

  it('a simulated disk can be emptied, and rolled back to an older image', () => {
    const { disk, run } = opened();
    disk.persist([meta('a', 1), version(5)], () => {});
    run(10);
    const image = disk.image();
    disk.persist([meta('a', 2), version(7)], () => {});
    run(10);
    disk.crash(false);
    disk.restore(image);
    expect([disk.recover().meta.get('a'), disk.store.read(0, 'default/a', 9)?.ts]).toEqual([1, 5]);
    disk.restore([]);
    expect(disk.recover().meta.size).toBe(0);
  });
});

import { Topology } from '@isochron/core';
import type { AcknowledgeLossesReq, Loss } from '@isochron/protocols';
import { testConfig } from '../../testing/test-cluster.js';
import { clusterSpec } from '../config/cluster-file.js';
import { lossLogger, OperatorPort } from './losses.js';

const loss: Loss = {
  txId: 'abcdefghijklmnopqrstuv.0',
  ts: 4096,
  attempt: 1,
  committed: true,
  takenBack: false,
  node: 'oregon-1',
  partitions: [1, 4],
  keys: Array.from({ length: 60 }, (_, i) => `default/k${i}`),
  acknowledged: false,
  overtaken: false,
};

describe('losses', () => {
  it('losses are a line each in the log, with transaction, keys and the node whose disk was lost', () => {
    const lines: unknown[] = [];
    const logger = { error: (fields: object) => lines.push(fields) };
    lossLogger(logger, Topology.of(clusterSpec(testConfig())))([loss, { ...loss, txId: 'b', keys: [] }]);
    expect(lines).toMatchObject([
      {
        transaction: loss.txId,
        timestamp: 4096,
        keyCount: 60,
        partitions: ['default/1', 'eu/0'],
        lostDiskOf: 'oregon-1',
        committed: true,
        takenBack: false,
      },
      { transaction: 'b', keys: [] },
    ]);
    expect((lines[0] as { keys: string[] }).keys).toEqual(loss.keys.slice(0, 50));
  });

  it('losses are acknowledged by a request to the node itself, which is answered once it is durable', async () => {
    const posted: { machine: string; from: string; message: AcknowledgeLossesReq }[] = [];
    const port = new OperatorPort('virginia-1', {
      firstRef: 0,
      post: (to, from, message) => posted.push({ machine: `${to.node} ${to.machine}`, from: from.machine, message }),
    });
    const asked = [port.acknowledgeLosses([loss.txId]), port.acknowledgeLosses('all')];
    expect(posted).toMatchObject([
      { machine: 'virginia-1 losses', from: 'operator', message: { transactions: [loss.txId] } },
      { machine: 'virginia-1 losses', from: 'operator', message: { transactions: null } },
    ]);
    for (const [i, { message }] of posted.entries()) {
      const answer = { type: 'AcknowledgeLossesResp' as const, ref: message.ref, acknowledged: i + 1 };
      port.step({ kind: 'message', now: 0, from: { node: 'virginia-1', machine: 'losses' }, message: answer });
    }
    expect(await Promise.all(asked)).toEqual([1, 2]);
  });

  it('an acknowledgement that is not durable when the node closes ends with an error', async () => {
    const port = new OperatorPort('virginia-1', { firstRef: 0, post: () => undefined });
    const asked = port.acknowledgeLosses('all');
    port.close();
    await expect(asked).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  });
});

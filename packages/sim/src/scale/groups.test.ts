import { transactionSchema } from '@isochron/protocols';
import { groupOf } from './groups.js';

describe('groupOf', () => {
  it('groupOf assigns each kind of work to its group', () => {
    expect(groupOf('ReadSliceResp')).toBe('reads');
    expect(groupOf('PrepareReq')).toBe('commits');
    expect(groupOf('Heartbeat')).toBe('replication');
    expect(groupOf('rounds round')).toBe('replication');
    expect(groupOf('stabilization gossip')).toBe('stabilisation');
    expect(groupOf('stabilization persisted')).toBe('durable batches');
    expect(groupOf('coordinator sweep')).toBe('rest');
  });

  it('groupOf leaves no message of an undisturbed transaction to the rest', () => {
    const repairs =
      /^(Join|Copy|ReplayLog|Outcome|TxStatus|Refused|WaitedRead|ReadCopy|Loss|Suspects|TakeBack|AcknowledgeLosses)/;
    const kinds = Object.keys(transactionSchema).filter((type) => !repairs.test(type));
    expect(kinds.filter((type) => groupOf(type) === 'rest')).toEqual([]);
  });
});

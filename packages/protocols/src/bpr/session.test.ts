import { Session } from '../kernel/transactions/session.js';
import { bprSession } from './session.js';

const session = (): Session => new Session('bpr-session-0001', bprSession);

describe('the session of BPR', () => {
  it('a session has seen its own commits: the next snapshot contains them', () => {
    const client = session();
    const tx = client.begin();
    client.started(tx, 100);
    tx.write('default/x', '1');
    client.commit(tx);
    client.committed(140);
    expect(client.seen).toEqual({ ts: 140 });
    expect(client.begin().seen.ts).toBe(140);
  });

  it('a session keeps no writes: replicas have what it reads', () => {
    const client = session();
    const open = client.begin();
    client.started(open, 50);
    const tx = client.begin();
    client.started(tx, 100);
    tx.write('default/x', '1');
    client.commit(tx);
    client.committed(140);
    expect(client.cacheSize).toBe(0);
    expect(client.begin().lookup('default/x')).toBeUndefined();
    expect(client.export().cache).toEqual([]);
  });

  it('a session never loses a snapshot that it has seen', () => {
    const client = session();
    client.observe({ ts: 100 });
    client.observe({ ts: 60 });
    expect(client.ust).toBe(100);
  });
});

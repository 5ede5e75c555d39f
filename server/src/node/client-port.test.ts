import { ClientPort } from './client-port.js';
import type { NodeMessage } from './messages.js';

const link = (port: ClientPort, up: boolean) => port.step({ kind: 'link', now: 0, node: 'virginia-2', up });

describe('a call of the coordinator on another node', () => {
  it('ends at once while the link to it is down: nothing that is sent on it arrives', async () => {
    const posted: NodeMessage[] = [];
    const port = new ClientPort('virginia-1', (_to, _from, message) => posted.push(message));
    const ask = () => port.txStatus({ txId: 'abcdefghijklmnopqrstuv.0' }, 'virginia-2');
    // Never linked, linked, and linked no more.
    await expect(ask()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    link(port, true);
    const asked = ask();
    expect(posted).toHaveLength(1);
    link(port, false);
    await expect(asked).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    await expect(ask()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    expect([posted.length, port.inFlight]).toEqual([1, 0]);
  });

  it('that is not answered when the node closes is lost, not refused: a commit may have taken effect', async () => {
    const port = new ClientPort('virginia-1', () => undefined);
    const asked = port.end({ txId: 'abcdefghijklmnopqrstuv.0' });
    port.close();
    await expect(asked).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  });
});

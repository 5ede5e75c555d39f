/** Session set-ups: connections that are opened, greeted and closed, each with a socket of its own. */
import { connect } from '@isochron/sdk';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { runWindow } from './window.js';

export interface SetupJob {
  readonly endpoint: string;
  /** Certificate authorities of the node, where it has TLS. */
  readonly ca?: string | undefined;
  /** For its API, where callers need one. */
  readonly token?: string | undefined;
  /** Sessions that are set up at the same time. */
  readonly inFlight: number;
  readonly durationMs: number;
}

answerJobs<SetupJob, Load>(({ endpoint, ca, token, inFlight, durationMs }) => {
  const credentials = token === undefined ? {} : { credentials: token };
  class OwnSocket extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols, ca === undefined ? {} : { ca });
    }
  }
  return runWindow(inFlight, durationMs, async () => {
    const client = await connect({ endpoints: [endpoint], WebSocket: OwnSocket, ...credentials });
    await client.close();
  });
});

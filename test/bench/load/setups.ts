/** Session set-ups: connections that are opened, greeted and closed, each with a socket and a handshake of its own. */
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { type ClientOptions, WebSocket } from 'ws';
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

type Options = ClientOptions & Pick<ConnectionOptions, 'secureContext'>;

answerJobs<SetupJob, Load>(({ endpoint, ca, token, inFlight, durationMs }) => {
  const hello = JSON.stringify({ type: 'hello', ...(token === undefined ? {} : { credentials: token }) });
  const url = `${endpoint.replace('http', 'ws')}/v1/session`;
  // Made once, as by a client that connects again: it costs the client more than a handshake.
  const options: Options = ca === undefined ? {} : { secureContext: createSecureContext({ ca }) };
  return runWindow(inFlight, durationMs, () => setUp(url, hello, options));
});

/** A bare client: the SDK would cost more than the node. */
function setUp(url: string, hello: string, options: Options): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, SESSION_SUBPROTOCOLS.json, options);
    let welcome = '';
    socket.on('open', () => socket.send(hello));
    socket.on('message', (data) => {
      welcome ||= String(data);
      socket.close();
    });
    socket.on('error', reject);
    socket.on('close', (code) => {
      if (welcome.startsWith('{"type":"welcome"')) resolve();
      else reject(new Error(`no session was set up: code ${code}, ${welcome.slice(0, 200)}`));
    });
  });
}

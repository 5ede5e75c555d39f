// The peer of the transport tests: WebSockets by `ws`, HTTP by Node, on ports of the loopback, one of them without TLS.
// Once all of them listen it prints `{"url":"http://127.0.0.1:PORT","tls":…}`, with the result of `startTls`. It ends
// when its standard input ends.

import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { answerHttp, recordClose } from './http-paths.mjs';
import { startTls } from './tls-listeners.mjs';
import { connectionPaths, refusals } from './websocket-paths.mjs';

const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;

const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: MAX_PAYLOAD_BYTES,
  perMessageDeflate: false,
  handleProtocols: (offered, request) => (request.url === '/wrong-subprotocol' ? 'never.offered' : [...offered][0]),
});

function upgrade(request, socket, head) {
  socket.on('error', () => {});
  const url = new URL(request.url, 'http://localhost');
  const refuse = refusals[url.pathname];
  if (refuse !== undefined) {
    refuse(socket, url.searchParams);
    return;
  }
  sockets.handleUpgrade(request, socket, head, (connection) => {
    connection.on('error', () => {});
    recordClose(url.searchParams.get('id'), connection);
    const serve = connectionPaths[url.pathname] ?? connectionPaths['/echo'];
    serve(connection, url.searchParams, socket);
  });
}

const tls = await startTls(answerHttp, upgrade);
const server = createServer(answerHttp).on('upgrade', upgrade);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const ports = { ...tls.ports, withoutTLS: port };
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, tls: { ...tls, ports } }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

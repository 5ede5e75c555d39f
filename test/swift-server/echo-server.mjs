// The peer of the transport tests: WebSockets by `ws`, HTTP by Node, on one port of the loopback.
// Prints `{"url":"http://127.0.0.1:PORT"}` once it listens, and ends when its standard input ends.

import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { answerHttp, recordClose } from './http-paths.mjs';
import { connectionPaths, refusals } from './websocket-paths.mjs';

const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;

const server = createServer(answerHttp);
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: MAX_PAYLOAD_BYTES,
  perMessageDeflate: false,
  handleProtocols: (offered, request) => (request.url === '/wrong-subprotocol' ? 'never.offered' : [...offered][0]),
});

server.on('upgrade', (request, socket, head) => {
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
});

server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

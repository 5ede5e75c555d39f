// The WebSocket paths. Numbers come as query parameters.

const number = (params, name, otherwise) => Number(params.get(name) ?? otherwise);

/** The `index`-th message of a burst: its number, and padding to a length. */
const burstMessage = (index, bytes) => `${index}:`.padEnd(bytes, 'x');

function echo(connection) {
  connection.on('message', (data, isBinary) => connection.send(data, { binary: isBinary }));
}

/** Sends `count` messages at once, then echoes. */
function burst(connection, params) {
  const count = number(params, 'count', 1000);
  const bytes = number(params, 'bytes', 200);
  for (let index = 0; index < count; index++) connection.send(burstMessage(index, bytes));
  echo(connection);
}

/** Counts messages that are numbered from 0. Reports when all `count` have arrived, and each that is out of order. */
function count(connection, params) {
  const expected = number(params, 'count', 1000);
  let next = 0;
  connection.on('message', (data) => {
    const index = Number.parseInt(data.toString(), 10);
    if (index !== next) connection.send(`${index} came instead of ${next}`);
    next++;
    if (next === expected) connection.send(`all ${expected}`);
  });
}

/** Answers each message in three fragments with empty ones between, and with pings between if `pings` is set. */
function fragments(connection, params) {
  const withPings = params.has('pings');
  connection.on('message', (data, binary) => {
    const cuts = [0, Math.floor(data.length / 3), Math.floor(data.length / 3), Math.floor((2 * data.length) / 3)];
    cuts.forEach((cut, index) => {
      connection.send(data.subarray(cut, cuts[index + 1] ?? data.length), { binary, fin: false });
      if (withPings) connection.ping(`between ${index}`);
    });
    connection.send(Buffer.alloc(0), { binary, fin: true });
  });
}

/** Sends pings, and reports each pong. */
function pings(connection, params) {
  connection.on('pong', (payload) => connection.send(`pong ${payload}`));
  for (let index = 0; index < number(params, 'count', 3); index++) connection.ping(`ping ${index}`);
  connection.ping('y'.repeat(125));
}

/** Sends a message, then closes with a code, without one, or not at all. */
function close(connection, params) {
  connection.send('last words');
  const code = params.get('code');
  if (code === null) connection.close();
  else connection.close(Number(code), params.get('reason') ?? '');
}

/** Cuts the socket at the first message, or at once. */
function drop(connection, params, socket) {
  if (params.has('now')) socket.destroy();
  else connection.on('message', () => socket.destroy());
}

/** Sends bytes that are not frames. */
function garbage(_connection, params, socket) {
  socket.write(Buffer.alloc(number(params, 'bytes', 64), 0xff));
}

/** Reads nothing: the bytes that the client sends pile up. */
function deaf(_connection, _params, socket) {
  socket.pause();
}

/** Sends the version of TLS, and the name by which the client asked for the server. */
function security(connection, _params, socket) {
  connection.send(JSON.stringify({ version: socket.getProtocol?.() ?? '', name: socket.servername || '' }));
}

/** Asks for new keys in the middle of the session, then echoes. */
function renegotiate(connection, _params, socket) {
  echo(connection);
  socket.renegotiate({}, () => {});
}

export const connectionPaths = {
  '/echo': echo,
  '/burst': burst,
  '/count': count,
  '/fragments': fragments,
  '/pings': pings,
  '/close': close,
  '/drop': drop,
  '/garbage': garbage,
  '/deaf': deaf,
  '/security': security,
  '/renegotiate': renegotiate,
};

/** Answers to the opening handshake other than the right one. */
export const refusals = {
  '/refuse': (socket, params) =>
    socket.end(`HTTP/1.1 ${params.get('status')} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
  '/bad-accept': (socket) =>
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n\r\n',
    ),
  '/silent': () => {},
};

// The HTTP paths, and the record of how WebSockets were closed.

const closes = new Map();
const waiting = new Map();
let cached = 0;

/** Keeps for `/closed?id=` how the connection with this id ended, and how many messages it received before. */
export function recordClose(id, connection) {
  if (id === null) return;
  let messages = 0;
  connection.on('message', () => messages++);
  connection.on('close', (code, reason) => {
    const end = JSON.stringify({ code, reason: reason.toString(), messages });
    closes.set(id, end);
    waiting.get(id)?.end(end);
  });
}

const paths = {
  /** The body, unchanged. */
  '/http/echo': (_params, request, response) => request.pipe(response),

  /** The method and the header fields. */
  '/http/headers': (_params, request, response) =>
    response.end(JSON.stringify({ method: request.method, headers: request.headers })),

  '/http/status': (params, _request, response) => {
    response.writeHead(Number(params.get('status')), { 'content-type': 'application/problem+json' });
    response.end('{"code":"SOME_CODE"}');
  },

  '/http/bytes': (params, _request, response) => response.end(Buffer.alloc(Number(params.get('count')), 0x61)),

  /** Never answers. */
  '/http/silent': () => {},

  /** Begins to answer, and never ends. */
  '/http/endless': (_params, _request, response) => {
    response.write('a');
    const timer = setInterval(() => response.write('a'), 50);
    response.on('close', () => clearInterval(timer));
  },

  '/http/drop': (_params, request) => request.socket.destroy(),

  /** Asks the client to keep a cookie and the answer. */
  '/http/keep': (_params, request, response) => {
    response.writeHead(200, { 'set-cookie': 'kept=1', 'cache-control': 'public, max-age=600', etag: '"1"' });
    response.end(JSON.stringify({ count: ++cached, cookie: request.headers.cookie ?? '' }));
  },

  '/closed': (params, _request, response) => {
    const id = params.get('id');
    if (closes.has(id)) response.end(closes.get(id));
    else waiting.set(id, response);
  },
};

/** The handler of the HTTP server. */
export function answerHttp(request, response) {
  const url = new URL(request.url, 'http://localhost');
  const answer = paths[url.pathname];
  if (answer === undefined) {
    response.writeHead(404).end();
    return;
  }
  answer(url.searchParams, request, response);
}

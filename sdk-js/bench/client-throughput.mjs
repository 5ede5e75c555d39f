// What the client itself costs: one-shot reads over one WebSocket against a server of a few lines, in a process of its own.
// After a build: node bench/client-throughput.mjs [in flight] [seconds]
import { fork } from 'node:child_process';
import { WebSocketServer } from 'ws';

const VALUE = '"12345678"';
const LIMITS = { maxKeyBytes: 1024, maxValueBytes: 1 << 20, maxKeysPerRequest: 1000, maxRequestBytes: 8 << 20 };

function answer(frame) {
  if (frame.type === 'read')
    return `{"type":"values","id":${frame.id},"snapshot":1000,"values":[${frame.keys.map(() => `[1,${JSON.stringify(VALUE)}]`)}]}`;
  if (frame.type === 'ping') return `{"type":"pong","id":${frame.id}}`;
  return JSON.stringify({
    type: 'welcome',
    region: 'bench',
    node: 'bench-1',
    cluster: 'bench',
    protocol: 'paris',
    capabilities: [],
    ust: 1000,
    token: 't',
    credits: 1024,
    limits: LIMITS,
    maxTransactionMs: 30_000,
    regions: [],
  });
}

function serve() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: ([first]) => first });
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const message = JSON.parse(data);
      socket.send(Array.isArray(message) ? `[${message.map(answer)}]` : answer(message));
    });
  });
  server.on('listening', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit());
}

async function measure(inFlight, seconds) {
  const { connect } = await import('@isochron/sdk');
  const child = fork(process.argv[1], ['serve']);
  const port = await new Promise((resolve) => child.once('message', resolve));
  const client = await connect({ endpoints: [`ws://127.0.0.1:${port}`] });
  let reads = 0;
  let end = 0;
  const worker = async (i) => {
    while (performance.now() < end) {
      await client.get(`key-${i}`);
      reads++;
    }
  };
  for (const round of ['warm-up', 'measured']) {
    reads = 0;
    const cpu = process.cpuUsage();
    const start = performance.now();
    end = start + seconds * 1000;
    await Promise.all(Array.from({ length: inFlight }, (_, i) => worker(i)));
    const elapsed = (performance.now() - start) / 1000;
    const used = process.cpuUsage(cpu);
    const perCore = reads / ((used.user + used.system) / 1e6);
    console.log(
      `${round}: ${Math.round(reads / elapsed)} reads/s, ${Math.round(perCore)} per second of CPU, ${inFlight} in flight`,
    );
  }
  await client.close();
  child.disconnect();
}

if (process.argv[2] === 'serve') serve();
else await measure(Number(process.argv[2] ?? 64), Number(process.argv[3] ?? 3));

/**
 * Free ports. They are below the range that the system uses for outgoing connections: a node that restarts needs its
 * old port, which no other process may have taken meanwhile.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 20_000;
const LAST = 32_000;
/** Test files run at the same time in at most this many workers of Jest: each has a range of its own. */
const WORKERS = 4;
const RANGE = (LAST - FIRST) / WORKERS;
const given = new Set<number>();

/** The first port of this process's range. Processes that a worker starts have its number in their environment. */
const firstPort = FIRST + RANGE * ((Number(process.env.JEST_WORKER_ID ?? 1) - 1) % WORKERS);

const candidate = (room: number): number => firstPort + Math.floor(Math.random() * (RANGE - room));

/** Ports without a listener, each given out once by this process. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = candidate(0);
    if (await take([port])) ports.push(port);
  }
  return ports;
}

/** A port from which on all of `offsets` are free. */
export async function freePortBase(offsets: readonly number[]): Promise<number> {
  for (;;) {
    const base = candidate(Math.max(...offsets));
    if (await take(offsets.map((offset) => base + offset))) return base;
  }
}

async function take(ports: readonly number[]): Promise<boolean> {
  if (ports.some((port) => given.has(port))) return false;
  const free = await Promise.all(ports.map(isFree));
  if (free.includes(false)) return false;
  for (const port of ports) given.add(port);
  return true;
}

/** Whether it is possible to listen at a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** Ports for the processes of a benchmark. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Ports below the system's ephemeral range. */
const FIRST_BASE = 20_000;
const LAST_BASE = 30_000;
const BASE_STEP = 300;

/** This many free ports of this machine. Another process may take one before its use; then that start fails. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map(portOf);
  await Promise.all(servers.map(close));
  return ports;
}

/** A port `p` such that every `p + offset` is free. @throws Error when there is none */
export async function freePortBase(offsets: readonly number[]): Promise<number> {
  for (let base = FIRST_BASE; base < LAST_BASE; base += BASE_STEP) {
    const free = await Promise.all(offsets.map((offset) => isFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
  throw new Error('there are no free ports for a cluster');
}

async function isFree(port: number): Promise<boolean> {
  try {
    await close(await listen(port));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/** Finds taken ports before any node starts: one clear line instead of one from each process. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isSystemError, portInUse, ReportedFailure } from '../failures.js';
import type { PlannedNode } from './plan.js';

/** @throws ReportedFailure that names the first port in use */
export async function checkPorts(nodes: readonly PlannedNode[]): Promise<void> {
  const ports = nodes.flatMap((node) => node.ports);
  const taken = (await Promise.all(ports.map(async (port) => ((await isFree(port)) ? [] : [port])))).flat();
  if (taken.length === 0) return;
  throw new ReportedFailure(`EADDRINUSE: ${portInUse(Math.min(...taken), 'pass --port-base')}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (isSystemError(error) && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}

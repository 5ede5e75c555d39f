/** Other stores on the same work: PostgreSQL and Redis of the system's packages, durable at each commit. */
import { execFileSync } from 'node:child_process';
import { accessSync, chownSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../ports.js';
import { LoggedProcess } from '../processes.js';

/** The stores that are compared. */
export type RivalName = 'postgres' | 'redis';

/** A store that runs. */
export interface RivalServer {
  /** The folder of its socket, or its port. */
  readonly address: string;
  /** The process of the store, and the processes of its connections. */
  pids(): number[];
  stop(): Promise<void>;
}

/** The user that PostgreSQL runs as where this process is root, which PostgreSQL refuses: a user without rights. */
const UNPRIVILEGED = 65_534;
const READY_TIMEOUT_MS = 30_000;
/** Connections of all loads. */
const CONNECTIONS = 400;

/** Folders of programs: PostgreSQL's own folder, which is not in the PATH, and the PATH. */
function programFolders(): string[] {
  const postgres = '/usr/lib/postgresql';
  const versions = existsSync(postgres) ? readdirSync(postgres).sort((a, b) => Number(b) - Number(a)) : [];
  return [...versions.map((version) => join(postgres, version, 'bin')), ...(process.env.PATH ?? '').split(delimiter)];
}

function programIn(folders: readonly string[], name: string): string | undefined {
  return folders
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * Starts a store in a folder of its own, which goes with it; undefined where the store is not installed. The folder is
 * not in that of the benchmark, which other users may not enter.
 */
export async function startRival(name: RivalName): Promise<RivalServer | undefined> {
  const folder = mkdtempSync(join(tmpdir(), `isochron-${name}-`));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const server = await (name === 'postgres' ? startPostgres(folder) : startRedis(folder));
    if (server === undefined) remove();
    return server && { ...server, stop: () => server.stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

async function startPostgres(folder: string): Promise<RivalServer | undefined> {
  const folders = programFolders();
  const [initdb, postgres] = ['initdb', 'postgres'].map((name) => programIn(folders, name));
  if (initdb === undefined || postgres === undefined) return undefined;
  const user = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  if ('uid' in user) chownSync(folder, UNPRIVILEGED, UNPRIVILEGED);
  const data = join(folder, 'data');
  execFileSync(initdb, ['-D', data, '-U', 'bench', '-A', 'trust', '--no-locale', '-E', 'UTF8'], {
    ...user,
    cwd: folder,
    stdio: 'pipe',
  });
  // The settings of the package, but for the size of its cache, which holds the data, and the number of connections.
  const settings = {
    shared_buffers: '1GB',
    max_connections: String(CONNECTIONS),
    fsync: 'on',
    synchronous_commit: 'on',
  };
  const args = ['-D', data, '-k', folder, '-h', ''];
  for (const [key, value] of Object.entries(settings)) args.push('-c', `${key}=${value}`);
  const server = new LoggedProcess('postgres', postgres, args, join(folder, 'log'), folder, user);
  await ready(server, () => existsSync(join(folder, '.s.PGSQL.5432')));
  return running(server, folder, 'SIGINT');
}

async function startRedis(folder: string): Promise<RivalServer | undefined> {
  const program = programIn(programFolders(), 'redis-server');
  if (program === undefined) return undefined;
  const [port] = await freePorts(1);
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...durable];
  const log = join(folder, 'log');
  const server = new LoggedProcess('redis', program, args, log, folder);
  await ready(server, () => readFileSync(log, 'utf8').includes('Ready to accept connections'));
  return running(server, String(port), 'SIGTERM');
}

async function ready(server: LoggedProcess, isReady: () => boolean): Promise<void> {
  for (const deadline = performance.now() + READY_TIMEOUT_MS; !isReady(); await delay(50)) {
    server.check();
    if (performance.now() < deadline) continue;
    await server.stop();
    throw new Error(`${server.name} is not ready in time:\n${readFileSync(server.logFile, 'utf8').slice(-2000)}`);
  }
}

const running = (server: LoggedProcess, address: string, end: NodeJS.Signals): RivalServer => ({
  address,
  pids: () => [server.pid, ...childrenOf(server.pid)],
  stop: () => server.stop(end),
});

/** PostgreSQL's processes that do not last, and whose CPU time is not counted. */
const PASSING = /autovacuum worker|initdb/;

/** The lasting children of a process; none where the system does not report them. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  const children = readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return children.filter((child) => {
    try {
      return !PASSING.test(readFileSync(`/proc/${child}/cmdline`, 'utf8'));
    } catch {
      return false;
    }
  });
}

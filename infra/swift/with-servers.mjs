// `node infra/swift/with-servers.mjs COMMAND ARGS`: starts the servers of the Swift tests, runs the command with their
// descriptions in ISOCHRON_TEST_SERVER and ISOCHRON_TEST_NODES and the authority of the first as that of the system,
// and ends the servers. Its exit code is the command's.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runInForeground } from '../dev/child.mjs';
import { runMain } from '../dev/node-version.mjs';

const FOLDER = fileURLToPath(new URL('../../test/swift-server/', import.meta.url));
const START_LIMIT_MS = 60_000;

/** Starts a server. It ends with its standard input, so also when this process is killed. */
async function startServer(file) {
  const child = spawn(process.execPath, [join(FOLDER, file)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill(), START_LIMIT_MS);
  const stop = () => {
    child.stdin.end();
    return exited;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    clearTimeout(timer);
    return { description: line, stop };
  }
  throw new Error(`${file} of the Swift tests did not start.`);
}

runMain(async () => {
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) throw new Error('Name the command: node infra/swift/with-servers.mjs COMMAND [ARGS]');
  const starting = ['echo-server.mjs', 'nodes.mjs'].map(startServer);
  const folder = mkdtempSync(join(tmpdir(), 'isochron-swift-'));
  try {
    const [server, nodes] = await Promise.all(starting);
    // OpenSSL reads the authorities of the system from this file.
    const authorities = join(folder, 'ca.pem');
    writeFileSync(authorities, JSON.parse(server.description).tls.ca);
    const env = {
      ...process.env,
      ISOCHRON_TEST_SERVER: server.description,
      ISOCHRON_TEST_NODES: nodes.description,
      SSL_CERT_FILE: authorities,
    };
    return await runInForeground(command, args, { env });
  } finally {
    const started = await Promise.allSettled(starting);
    await Promise.all(started.map(({ value }) => value?.stop()));
    rmSync(folder, { recursive: true });
  }
});

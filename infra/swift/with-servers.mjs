// `node infra/swift/with-servers.mjs COMMAND ARGS`: starts the server of the Swift transport tests, runs the command
// with its description in ISOCHRON_TEST_SERVER and its authority as that of the system, and ends the server. Its exit
// code is the command's.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runInForeground } from '../dev/child.mjs';
import { runMain } from '../dev/node-version.mjs';

const SERVER = fileURLToPath(new URL('../../test/swift-server/echo-server.mjs', import.meta.url));
const START_LIMIT_MS = 10_000;

/** Starts the server. It ends with its standard input, so also when this process is killed. */
async function startServer() {
  const child = spawn(process.execPath, [SERVER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill(), START_LIMIT_MS);
  for await (const line of createInterface({ input: child.stdout })) {
    clearTimeout(timer);
    return { description: line, stop: () => child.stdin.end() };
  }
  throw new Error('The server of the Swift tests did not start.');
}

runMain(async () => {
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) throw new Error('Name the command: node infra/swift/with-servers.mjs COMMAND [ARGS]');
  const server = await startServer();
  const folder = mkdtempSync(join(tmpdir(), 'isochron-swift-'));
  try {
    // OpenSSL reads the authorities of the system from this file.
    const authorities = join(folder, 'ca.pem');
    writeFileSync(authorities, JSON.parse(server.description).tls.ca);
    const env = { ...process.env, ISOCHRON_TEST_SERVER: server.description, SSL_CERT_FILE: authorities };
    return await runInForeground(command, args, { env });
  } finally {
    server.stop();
    rmSync(folder, { recursive: true });
  }
});

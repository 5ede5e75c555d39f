#!/usr/bin/env node
/** The command of the example: serves the page, and prints a link for each of two members in two regions. */
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { createServer } from 'vite';

const DEFAULT_NODES = ['http://127.0.0.1:7101', 'http://127.0.0.1:7103'];
const MEMBERS = ['Ann', 'Ben'];

interface Options {
  readonly node?: readonly string[];
  readonly port: string;
  readonly issuer?: string;
}

const command = new Command('lists')
  .description('Serves an app with shared shopping lists, for two members in two regions.')
  .option(
    '--node <urls>',
    `a node for each member, with commas between or repeated (default: ${DEFAULT_NODES.join(',')})`,
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), ...text.split(',')],
  )
  .option('--port <n>', 'port of the page', '5180')
  .option('--issuer <url>', 'members sign in at this OpenID Connect provider, which has a client "lists"')
  .action(serve);

async function serve({ node = DEFAULT_NODES, port, issuer }: Options): Promise<void> {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const server = await createServer({
    root,
    configFile: false,
    logLevel: 'warn',
    server: { host: '127.0.0.1', port: Number(port), strictPort: true },
  });
  await server.listen();
  for (const [i, url] of node.entries()) {
    const member = MEMBERS[i] ?? `Guest ${i + 1}`;
    const query = new URLSearchParams({ ...(issuer === undefined ? { member } : { issuer }), node: url });
    console.log(`${member} at ${url}:  http://127.0.0.1:${port}/?${query}`);
  }
}

await command.parseAsync();

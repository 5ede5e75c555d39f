/** The commands of `isochron nodes`. */
import type { Command } from 'commander';
import { examples } from '../help.js';
import type { NodesOptions, OrderName, OrderOptions } from './command.js';

/** How the program connects to a cluster: adds the options of that to a command, and fills them in. */
interface Connecting {
  readonly connected: (command: Command) => Command;
  readonly connecting: <T>(options: Omit<T, 'endpoint' | 'endpointGiven'>) => T;
}

const ORDERS: Readonly<Record<OrderName, string>> = {
  suspend: 'let stable time go on without members at once; they return by themselves',
  hold: 'keep nodes away until "return"; members are suspended',
  return: 'let held nodes return',
  evict: 'go on without nodes that are lost with their disks, for ever',
};

export function nodesCommands(program: Command, { connected, connecting }: Connecting): void {
  const nodes = program
    .command('nodes')
    .description('list the nodes with their states, suspend nodes, keep nodes away, evict lost nodes')
    .addHelpText(
      'after',
      `\nactive: stable time waits for the node. suspected: other nodes receive nothing from it. suspended: stable time goes
on without it. returning: takes what it lacks. owing: commits again what was deferred because of it. leaving, left: in
order. held: an operator keeps it away. evicted: never comes back. "since" is the last time that counts the node.${examples(
        'isochron nodes',
        'isochron nodes suspend ireland-1 ireland-2',
        'isochron nodes hold ireland-1 --yes',
        'isochron nodes return ireland-1',
        'isochron nodes evict ireland-1',
      )}`,
    );
  connected(nodes.command('list', { isDefault: true }).description('list the nodes (default)')).action(
    async (options: Omit<NodesOptions, 'endpoint'>) => (await import('./command.js')).runNodes(connecting(options)),
  );
  for (const action of ['suspend', 'hold', 'return', 'evict'] as const)
    connected(nodes.command(action).description(ORDERS[action]))
      .argument('<nodes...>', 'ids of the nodes; all that do not answer in one command')
      .option('--yes', 'ask nothing', false)
      .action(async (ids: string[], options: Omit<OrderOptions, 'endpoint'>) =>
        (await import('./command.js')).runOrder(action, ids, connecting(options)),
      );
}

/** Opens a node: disk, machines, links (D7, D14). The APIs in `http/` and `ws/` build on the result. */
import { randomInt } from 'node:crypto';
import { type MessageSchema, type NodeId, type QualifiedKey, Topology, type Version } from '@isochron/core';
import {
  clientRequests,
  MAPS_MACHINE,
  type OperationMessage,
  type OperationNode,
  type OperationRequestMap,
  operationRequests,
  type TransactionNode,
} from '@isochron/protocols';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import {
  ASKED_TIMER,
  CLIENT_MACHINE,
  type CoordinatorRequests,
  MachinePort,
  SESSIONS_MACHINE,
  SessionsMachine,
} from '@isochron/sessions';
import { isOutOfRoom } from '@isochron/storage';
import { clusterSpec } from '../config/cluster-file.js';
import { newSessionId } from '../session/ids.js';
import { snapshotChecks } from '../session/tokens.js';
import type { AnyNode, OperationsNode, TransactionsNode } from './api.js';
import { openDataFolder } from './data-folder.js';
import { releaseReserve } from './disk-watch.js';
import { LEAVING_MACHINE, LeavingPort } from './leaving.js';
import { OPERATOR_MACHINE, OperatorPort } from './losses.js';
import { cacheBytesOf, processMemory } from './memory.js';
import { type NodeMessage, nodeSchema } from './messages.js';
import { type Described, Node, type Parts } from './node.js';
import type { NodeOptions } from './options.js';
import { ORDERS_MACHINE, OrdersPort } from './orders.js';
import { answerTo } from './promised.js';
import { type ServedOperations, type ServedProtocol, type ServedTransactions, servedProtocol } from './protocols.js';
import { type Figures, operationFigures, transactionFigures } from './status.js';
import { type Blocked, operationWaits, transactionWaits } from './waits.js';

export type OpenedNode = Described & AnyNode;

/**
 * Recovers the node from its disk, listens for peers and begins to take part.
 * @throws IsochronError STORAGE_FAILED, STORAGE_FORMAT, PLACEMENT_MISMATCH; a system error EADDRINUSE when the peer
 * port is taken
 */
export async function openNode(options: NodeOptions): Promise<OpenedNode> {
  const { config, node, dataDir } = options;
  const topology = Topology.of(clusterSpec(config));
  const placement = { node, clusterId: config.cluster, protocol: config.protocol, map: topology.map };
  const { durability } = config.settings;
  const cacheBytes = cacheBytesOf(config, node, processMemory());
  options.logger.info({ cacheBytes }, `keys take up to ${Math.round(cacheBytes / 2 ** 20)} MiB of memory`);
  const soleCopy = topology.partitionsOn(node).some((id) => topology.partitions[id]!.regions.length === 1);
  const folder = { dataDir, placement, durability, cacheBytes, soleCopy, logger: options.logger };
  const data = await openDataFolder(folder).catch((error: unknown) => {
    // The space of the reserve is enough to start on a full disk.
    if (isOutOfRoom(error) && releaseReserve(dataDir)) return openDataFolder(folder);
    throw error;
  });
  try {
    const protocol: ServedProtocol = servedProtocol<ProtocolName>(config.protocol);
    const parts = { options, topology, data, soleCopy };
    const running =
      protocol.kind === 'operations'
        ? new OpenOperationsNode(parts, protocol)
        : new OpenTransactionsNode(parts, protocol);
    await running.listen(data.storeId);
    return running;
  } catch (error) {
    await data.store.close();
    throw error;
  }
}

class OpenTransactionsNode extends Node<NodeMessage> implements TransactionsNode {
  readonly protocol: ServedTransactions;
  readonly port: MachinePort<CoordinatorRequests>;
  readonly sessions: SessionsMachine;
  protected readonly schema: MessageSchema<NodeMessage>;
  protected readonly machines: TransactionNode;
  protected readonly operator: OperatorPort;
  protected override readonly leaving: LeavingPort | undefined;
  override readonly orders: OrdersPort | undefined;

  constructor(parts: Parts, protocol: ServedTransactions) {
    super(parts);
    this.protocol = protocol;
    this.schema = nodeSchema(protocol);
    this.machines = protocol.open(this.common);
    this.port = new MachinePort<CoordinatorRequests>(clientRequests, this.id, this.portDriver());
    const checks = snapshotChecks(this.config);
    this.sessions = new SessionsMachine({
      wake: () => this.host.fire(SESSIONS_MACHINE, ASKED_TIMER),
      session: protocol.session,
      fits: (deps) => checks.fits(deps),
      newId: newSessionId,
      now: () => performance.now(),
      firstRef: randomInt(2 ** 32),
    });
    this.operator = new OperatorPort(this.id, this.portDriver());
    const hasMaps = protocol.capabilities.has('stable-snapshots');
    this.leaving = hasMaps ? new LeavingPort(this.id, this.portDriver()) : undefined;
    this.orders = hasMaps ? new OrdersPort(this.id, this.portDriver()) : undefined;
    const ports = [
      [CLIENT_MACHINE, this.port],
      [SESSIONS_MACHINE, this.sessions],
      [OPERATOR_MACHINE, this.operator],
      ...(this.leaving === undefined ? [] : [[LEAVING_MACHINE, this.leaving] as const]),
      ...(this.orders === undefined ? [] : [[ORDERS_MACHINE, this.orders] as const]),
    ] as const;
    this.add([...this.machines.machines, ...ports], parts.data.retiring);
  }

  protected override silent(nodes: readonly NodeId[]): void {
    if (this.leaving === undefined) return;
    const maps = { node: this.id, machine: MAPS_MACHINE };
    this.host.post({ to: maps, from: maps, message: { type: 'Silent', nodes } });
  }

  protected figures(): Figures {
    return transactionFigures(this.machines);
  }

  protected blocked(): Blocked {
    return transactionWaits(this.machines);
  }

  protected async newest(key: QualifiedKey): Promise<Version | null> {
    const { versions } = await answerTo<CoordinatorRequests, 'ReadReq'>(this.port, {
      type: 'ReadReq',
      txId: null,
      ust: this.ust(),
      at: null,
      keys: [key],
    });
    return versions[0] ?? null;
  }
}

class OpenOperationsNode extends Node<OperationMessage> implements OperationsNode {
  readonly protocol: ServedOperations;
  readonly port: MachinePort<OperationRequestMap>;
  protected readonly schema: MessageSchema<OperationMessage>;
  protected readonly machines: OperationNode;
  protected readonly operator: OperatorPort;

  constructor(parts: Parts, protocol: ServedOperations) {
    super(parts);
    this.protocol = protocol;
    this.schema = protocol.schema;
    this.machines = protocol.open(this.common);
    this.port = new MachinePort<OperationRequestMap>(operationRequests, this.id, this.portDriver());
    this.operator = new OperatorPort(this.id, this.portDriver());
    const ports = [
      [CLIENT_MACHINE, this.port],
      [OPERATOR_MACHINE, this.operator],
    ] as const;
    this.add([...this.machines.machines, ...ports], parts.data.retiring);
  }

  protected figures(): Figures {
    return operationFigures(this.machines);
  }

  protected blocked(): Blocked {
    return operationWaits(this.machines);
  }

  protected async newest(key: QualifiedKey): Promise<Version | null> {
    const { version } = await answerTo(this.port, this.protocol.session('', this.region).get(key));
    return version;
  }
}

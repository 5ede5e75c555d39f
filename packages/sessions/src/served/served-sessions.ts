/** All session connections of a node. */
import { ServedConnection, type SessionLink } from './served-connection.js';
import type { ServedNode, ServedSession } from './served-session.js';

/** Clients of a node that restarts come back spread over this time, ms. */
const RETURN_SPREAD_MS = 5000;
const RETURN_AFTER_MS = 500;
const LEAVING = 'the node is about to close';

export class ServedSessions {
  readonly #connections = new Set<ServedConnection>();
  #left: (() => void) | undefined;

  /** @param open makes the session of a connection */
  constructor(
    readonly node: ServedNode,
    readonly open: () => ServedSession,
  ) {}

  /** Connections now. */
  get size(): number {
    return this.#connections.size;
  }

  /**
   * Serves a new connection. The driver gives it the decoded messages of the client, and reports when the link is gone.
   */
  admit(link: SessionLink): ServedConnection {
    const connection = new ServedConnection(this.node, this.open(), link, () => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#left?.();
    });
    this.#connections.add(connection);
    return connection;
  }

  /**
   * Sends the stable time to the clients that do not have it. Called about once a second, and at once when a node or
   * region becomes unresponsive or responsive.
   * @param changed whether the freshness has changed by more than time, or other nodes are unresponsive: all clients
   * get it
   */
  tick(changed: boolean): void {
    for (const connection of this.#connections) connection.sendUst(changed);
  }

  /**
   * Sends every client elsewhere. Ends when all have left, or after `timeoutMs`; those that stayed are served until
   * `close`.
   */
  leave(timeoutMs: number, done: () => void): void {
    this.#sendAway();
    if (this.size === 0) {
      done();
      return;
    }
    const end = (): void => {
      this.#left = undefined;
      cancel();
      done();
    };
    const cancel = this.node.after(timeoutMs, end);
    this.#left = end;
  }

  /** Closes all connections. The driver drops the links of clients that do not answer the close. */
  close(): void {
    this.#sendAway();
    for (const connection of this.#connections) connection.close(LEAVING);
  }

  #sendAway(): void {
    for (const connection of this.#connections) {
      connection.goaway(LEAVING, Math.round(RETURN_AFTER_MS + this.node.random() * RETURN_SPREAD_MS));
    }
  }
}

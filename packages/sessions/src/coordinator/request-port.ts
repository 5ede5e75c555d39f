/** Calls of the machines of a node, or of another node, from outside: each with a callback. */
import { type AnyMessage, IsochronError, type NodeId, TransientMap } from '@isochron/core';
import type { Address, Input, Machine, Refused } from '@isochron/protocols';

/** Ends a call, once: with its result, or with its error. */
export type Done<T> = (result: T | IsochronError) => void;

/** Name of the machine that represents all clients of a node. */
export const CLIENT_MACHINE = 'client';

/** The port's driver. */
export interface PortDriver<Request> {
  /** Sends a request. Its answer may come before this returns. */
  post(to: Address, from: Address, message: Request): void;
  /** The reason why a request is not begun now; undefined when it is. */
  refusal?(message: Request): IsochronError | undefined;
  /** The numbers of requests begin here: an answer to a request of a previous incarnation must not match one. */
  readonly firstRef: number;
}

interface Pending<Response> {
  readonly coordinator: NodeId;
  readonly asked: string;
  readonly awaits: string;
  readonly done: Done<Response>;
}

type Message = AnyMessage & { readonly ref: number };

/**
 * Turns calls into requests to a coordinator, and its answers into results. A coordinator always answers or refuses
 * within its own deadlines; an answer lost on a broken link ends with CONNECTION_LOST.
 */
export abstract class RequestPort<Request extends Message, Response extends Message>
  implements Machine<Request | Response>
{
  readonly #pending = new TransientMap<number, Pending<Response>>();
  readonly #linked = new Set<NodeId>();
  readonly #self: Address;
  #lastRef: number;

  constructor(
    readonly node: NodeId,
    readonly driver: PortDriver<Request>,
    /** Name of the machine that receives the answers. */
    machine = CLIENT_MACHINE,
  ) {
    this.#self = { node, machine };
    this.#lastRef = driver.firstRef;
  }

  /** Requests without an answer yet. */
  get inFlight(): number {
    return this.#pending.size;
  }

  step(input: Input<Request | Response>): void {
    if (input.kind === 'link') this.#link(input.node, input.up);
    if (input.kind !== 'message') return;
    const message = input.message as Response | Refused;
    const pending = this.#pending.get(message.ref);
    if (pending === undefined) return;
    this.#pending.delete(message.ref);
    if (isRefused(message)) pending.done(new IsochronError(message.code, message.detail));
    else if (message.type === pending.awaits) pending.done(message);
    else pending.done(unexpected(message.type, pending.asked));
  }

  invariants(): void {}

  describe(): object {
    return { inFlight: this.#pending.size };
  }

  /** The node stops: open requests get no answer any more. */
  close(): void {
    // Not a refusal: a commit among them may have taken effect.
    const error = new IsochronError('CONNECTION_LOST', 'The node has closed; ask another one.');
    for (const [ref, { done }] of this.#pending) {
      this.#pending.delete(ref);
      done(error);
    }
  }

  protected ref(): number {
    this.#lastRef = (this.#lastRef + 1) % 2 ** 32;
    return this.#lastRef;
  }

  /** Sends a message that has no answer. */
  protected post(message: Request, node: NodeId, machine: string): void {
    this.driver.post({ node, machine }, this.#self, message);
  }

  protected call<T extends Response['type']>(
    request: Request,
    awaits: T,
    done: Done<Extract<Response, { type: T }>>,
    coordinator: NodeId,
    machine = 'coordinator',
  ): void {
    // A link that is down drops messages silently.
    if (coordinator !== this.node && !this.#linked.has(coordinator)) {
      done(linkDown(coordinator));
      return;
    }
    const refusal = this.driver.refusal?.(request);
    if (refusal !== undefined) {
      done(refusal);
      return;
    }
    this.#pending.set(request.ref, { coordinator, asked: request.type, awaits, done: done as Done<Response> });
    this.driver.post({ node: coordinator, machine }, this.#self, request);
  }

  #link(node: NodeId, up: boolean): void {
    if (up) this.#linked.add(node);
    else {
      this.#linked.delete(node);
      this.#lost(node);
    }
  }

  #lost(node: NodeId): void {
    for (const [ref, { coordinator, done }] of this.#pending) {
      if (coordinator !== node) continue;
      this.#pending.delete(ref);
      done(linkDown(node));
    }
  }
}

const isRefused = (message: Message): message is Refused => message.type === 'Refused';

const linkDown = (node: NodeId): IsochronError =>
  new IsochronError('CONNECTION_LOST', `The link to ${node}, which holds the transaction, is down.`);

const unexpected = (answered: string, asked: string): IsochronError =>
  new IsochronError('INTERNAL', `The coordinator answered ${answered} to ${asked}.`);

import { randomInt } from 'node:crypto';
import { type AnyMessage, IsochronError, type NodeId } from '@isochron/core';
import type {
  Address,
  ClientRequest,
  ClientResponse,
  GetReq,
  GetResp,
  Input,
  Machine,
  OperationRequest,
  OperationResponse,
  PutReq,
  PutResp,
  Refused,
  RotReq,
  RotResp,
} from '@isochron/protocols';
import type { CoordinatorPort, OperationsPort, Unreferenced } from './api.js';

/** Name of the machine that stands for all clients of a node. */
export const CLIENT_MACHINE = 'client';

interface Pending<Response> {
  readonly coordinator: NodeId;
  readonly resolve: (answer: Response) => void;
  readonly reject: (error: IsochronError) => void;
}

type Message = AnyMessage & { readonly ref: number };

/**
 * Turns calls into requests to a coordinator, and its answers into results. A coordinator always answers or refuses within its own
 * deadlines; an answer that a broken link swallowed ends with CONNECTION_LOST.
 */
export abstract class RequestPort<Request extends Message, Response extends Message>
  implements Machine<Request | Response>
{
  readonly #pending = new Map<number, Pending<Response>>();
  readonly #linked = new Set<NodeId>();
  readonly #self: Address;
  /** Begins anywhere: an answer to a request of a former life is nobody's. */
  #lastRef = randomInt(2 ** 32);

  constructor(
    readonly node: NodeId,
    /** Puts a request on its way. */
    readonly post: (to: Address, from: Address, message: Request) => void,
    /** Name of the machine that the answers come to. */
    machine = CLIENT_MACHINE,
  ) {
    this.#self = { node, machine };
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
    if (isRefused(message)) pending.reject(new IsochronError(message.code, message.detail));
    else pending.resolve(message);
  }

  invariants(): void {}

  describe(): object {
    return { inFlight: this.#pending.size };
  }

  /** The node stops: what is not answered now never will be. */
  close(): void {
    // Not a refusal: a commit among them may have taken effect.
    const error = new IsochronError('CONNECTION_LOST', 'The node has closed; ask another one.');
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  protected ref(): number {
    this.#lastRef = (this.#lastRef + 1) % 2 ** 32;
    return this.#lastRef;
  }

  protected call<T extends Response['type']>(
    request: Request,
    answer: T,
    coordinator: NodeId,
    machine = 'coordinator',
  ): Promise<Extract<Response, { type: T }>> {
    // What is sent on a link that is down is dropped without a word.
    if (coordinator !== this.node && !this.#linked.has(coordinator)) return Promise.reject(linkDown(coordinator));
    return new Promise((resolve, reject) => {
      const take = (response: Response) => {
        if (response.type === answer) resolve(response as Extract<Response, { type: T }>);
        else reject(new IsochronError('INTERNAL', `The coordinator answered ${response.type} to ${request.type}.`));
      };
      this.#pending.set(request.ref, { coordinator, resolve: take, reject });
      this.post({ node: coordinator, machine }, this.#self, request);
    });
  }

  #link(node: NodeId, up: boolean): void {
    if (up) this.#linked.add(node);
    else {
      this.#linked.delete(node);
      this.#lost(node);
    }
  }

  #lost(node: NodeId): void {
    for (const [ref, { coordinator, reject }] of this.#pending) {
      if (coordinator !== node) continue;
      this.#pending.delete(ref);
      reject(linkDown(node));
    }
  }
}

const isRefused = (message: Message): message is Refused => message.type === 'Refused';

const linkDown = (node: NodeId): IsochronError =>
  new IsochronError('CONNECTION_LOST', `The link to ${node}, which holds the transaction, is down.`);

type Answer<T extends ClientResponse['type']> = Extract<ClientResponse, { type: T }>;
type Request<T extends ClientRequest['type']> = Unreferenced<Extract<ClientRequest, { type: T }>>;

/** For interactive transactions: any coordinator of the region may be called. */
export class ClientPort extends RequestPort<ClientRequest, ClientResponse> implements CoordinatorPort {
  start(request: Request<'StartTxReq'>, coordinator = this.node): Promise<Answer<'StartTxResp'>> {
    return this.call({ type: 'StartTxReq', ref: this.ref(), ...request }, 'StartTxResp', coordinator);
  }

  read(request: Request<'ReadReq'>, coordinator = this.node): Promise<Answer<'ReadResp'>> {
    return this.call({ type: 'ReadReq', ref: this.ref(), ...request }, 'ReadResp', coordinator);
  }

  list(request: Request<'ListReq'>, coordinator = this.node): Promise<Answer<'ListResp'>> {
    return this.call({ type: 'ListReq', ref: this.ref(), ...request }, 'ListResp', coordinator);
  }

  commit(request: Request<'CommitReq'>, coordinator = this.node): Promise<Answer<'CommitResp'>> {
    return this.call({ type: 'CommitReq', ref: this.ref(), ...request }, 'CommitResp', coordinator);
  }

  end(request: Request<'EndTxReq'>, coordinator = this.node): Promise<Answer<'EndTxResp'>> {
    return this.call({ type: 'EndTxReq', ref: this.ref(), ...request }, 'EndTxResp', coordinator);
  }

  txStatus(request: Request<'TxStatusReq'>, coordinator = this.node): Promise<Answer<'TxStatusResp'>> {
    return this.call({ type: 'TxStatusReq', ref: this.ref(), ...request }, 'TxStatusResp', coordinator);
  }
}

/** For single operations: this node's coordinator does them. */
export class OperationPort extends RequestPort<OperationRequest, OperationResponse> implements OperationsPort {
  get(request: Unreferenced<GetReq>): Promise<GetResp> {
    return this.call({ ...request, type: 'GetReq', ref: this.ref() }, 'GetResp', this.node);
  }

  put(request: Unreferenced<PutReq>): Promise<PutResp> {
    return this.call({ ...request, type: 'PutReq', ref: this.ref() }, 'PutResp', this.node);
  }

  rot(request: Unreferenced<RotReq>): Promise<RotResp> {
    return this.call({ ...request, type: 'RotReq', ref: this.ref() }, 'RotResp', this.node);
  }
}

/**
 * The costs of a node's work. Every figure is a measured one: `us` of CPU for one, and `perItemUs` for each item in it
 * (a key, a version, a write, a record).
 */
import type { TransactionMessage } from '@isochron/protocols';
import { type Group, groupOf } from './groups.js';

export interface Cost {
  readonly us: number;
  readonly perItemUs: number;
}

/** Costs by kind. A kind without an entry costs as much as `other`. */
export interface Costs {
  readonly [kind: string]: Cost;
  readonly other: Cost;
}

export interface CostModel {
  /**
   * Steps of machines: by the type of the message, or by machine and timer (`rounds round`, `stabilization persisted`).
   */
  readonly steps: Costs;
  /** Messages of a frame on their way out and in, by type. */
  readonly encode: Costs;
  readonly decode: Costs;
  /** A frame of peers, beside its messages: sockets, headers. */
  readonly frame: { readonly sendUs: number; readonly receiveUs: number };
  /** A WebSocket message from a client, and one to it: sockets, encoding, validation. */
  readonly client: { readonly receive: Cost; readonly send: Cost };
  /** A durable batch: its cost on the event loop, and the time until it is on disk. */
  readonly batch: { readonly loop: Cost; readonly disk: Cost };
  /** The fixed cost of a turn of the event loop. */
  readonly turnUs: number;
}

const FREE: Cost = { us: 0, perItemUs: 0 };
const FREE_OF_ALL: Costs = { other: FREE };

/** All work is free. */
export const FREE_MODEL: CostModel = {
  steps: FREE_OF_ALL,
  encode: FREE_OF_ALL,
  decode: FREE_OF_ALL,
  frame: { sendUs: 0, receiveUs: 0 },
  client: { receive: FREE, send: FREE },
  batch: { loop: FREE, disk: FREE },
  turnUs: 0,
};

/** In µs. */
export const costOf = ({ us, perItemUs }: Cost, items: number): number => us + perItemUs * items;

/** A kind of work: its cost, and its group. */
export interface Price {
  readonly cost: Cost;
  readonly group: Group;
}

/** Prices by kind, each computed once: they are needed for every message. */
export class Prices {
  readonly #costs: Costs;
  readonly #known = new Map<string, Price>();

  constructor(costs: Costs) {
    this.#costs = costs;
  }

  of(kind: string): Price {
    let price = this.#known.get(kind);
    if (price === undefined) {
      const cost = Object.hasOwn(this.#costs, kind) ? this.#costs[kind]! : this.#costs.other;
      price = { cost, group: groupOf(kind) };
      this.#known.set(kind, price);
    }
    return price;
  }
}

/** Keys, versions or writes in a message. */
export function itemsOf(message: TransactionMessage): number {
  switch (message.type) {
    case 'ReadReq':
    case 'ReadSliceReq':
      return message.keys.length;
    case 'ReadResp':
    case 'ReadSliceResp':
      return message.versions.length;
    case 'CommitReq':
    case 'PrepareReq':
      return message.writes.length;
    case 'Replicate':
      return message.groups.reduce((sum, { txs }) => sum + txs.reduce((own, { writes }) => own + writes.length, 0), 0);
    default:
      return 0;
  }
}

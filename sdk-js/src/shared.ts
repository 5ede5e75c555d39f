/**
 * One WebSocket for all sessions of a process with an endpoint, in Node. To a client, a channel of it is a WebSocket.
 * Sessions with different credentials share none.
 *
 * A server without shared sockets chooses the session's own subprotocol: the socket then carries one session, and the
 * others open their own. Browsers never load this file, so it shares no code with the others.
 */
import { type ChannelEvents, Channels } from '@isochron/wire/channels/channels';
import { CHANNEL_LIMITS, ChannelFault, SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import { type Carrier, Member, type Message } from './member.js';
import type { SocketEvent, WebSocketConstructor, WebSocketLike } from './options.js';

/** How long a socket without a session stays open, if it does not keep the process alive meanwhile, ms. */
const LINGER_MS = 5000;
/** Close code of a channel that its client has given up (*going away*), and of an invalid text. */
const [GIVEN_UP, NOT_TEXT] = [1001, 1007];
/** Close code of a socket that could not agree on TLS, and the codes of Node's errors for that. */
const TLS_FAILED = 1015;
const TLS_ERROR = /^(?:ERR_(?:TLS|SSL)_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA$|EPROTO$)/;
/** Largest accepted message: the default of `ws`. */
const MAX_MESSAGE_BYTES = 100 * 1024 * 1024;
const RULES = {
  maxMessageBytes: MAX_MESSAGE_BYTES,
  partialsOut: CHANNEL_LIMITS.partials,
  partialsIn: Number.POSITIVE_INFINITY,
};

/** Members of Node's sockets beyond {@link WebSocketLike}. */
interface NodeSocket extends WebSocketLike {
  readonly protocol?: string;
  /** Of `ws`: the TCP socket, which can be kept from keeping the process alive. */
  readonly _socket?: { ref(): void; unref(): void } | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** A socket that sessions share, from its first attempt to connect until it is closed. */
class SharedSocket implements ChannelEvents {
  readonly #socket: NodeSocket;
  readonly #channels = new Channels(this, RULES);
  readonly #members = new Map<number, Member>();
  /** Sessions without a channel yet. */
  #waiting: Member[] = [];
  #state: 'connecting' | 'shared' | 'done' = 'connecting';
  /** A session has given its channel up, and no message has come since: the socket may be dead. */
  #isSuspect = false;
  #flushing = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(
    readonly pool: Pool,
    readonly url: string,
    readonly credentials: unknown,
    subprotocol: string,
  ) {
    const socket: NodeSocket = new pool.Base(url, [SHARED_SUBPROTOCOL, subprotocol]);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let failure = '';
    socket.addEventListener('open', () => this.#opened());
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    let isOfTls = false;
    socket.addEventListener(
      'error',
      ({ message = '', error }: SocketEvent & { readonly error?: { code?: unknown } }) => {
        failure = message;
        isOfTls = TLS_ERROR.test(String(error?.code));
      },
    );
    socket.addEventListener('close', ({ code = 0, reason = '' }) =>
      this.#lost(isOfTls ? TLS_FAILED : code, reason || failure),
    );
  }

  /** Whether a further session may join. */
  get isOpen(): boolean {
    const isFull = this.#channels.isFull || this.#channels.size + this.#waiting.length >= CHANNEL_LIMITS.channels;
    return this.#state !== 'done' && !this.#isSuspect && !isFull;
  }

  /** A session joins. It is notified later that it is open. */
  add(member: Member): void {
    const leave = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== member);
      member.end();
      // Others go on waiting for it, and further ones try another one.
      this.#isSuspect = true;
      this.#checkUse();
    };
    member.carrier = { send: () => {}, close: leave, terminate: leave };
    this.#waiting.push(member);
    this.#keepAlive();
    if (this.#state === 'shared') queueMicrotask(() => this.#attach());
  }

  // The events of the channels.

  received(channel: number, payload: Uint8Array, isText: boolean): void {
    const member = this.#members.get(channel);
    if (member === undefined) return;
    let data: string | ArrayBuffer;
    try {
      data = isText ? decoder.decode(payload) : payload.slice().buffer;
    } catch {
      this.#drop(channel, member, NOT_TEXT);
      return;
    }
    member.emit('message', { data });
  }

  refused(channel: number): void {
    const member = this.#members.get(channel);
    if (member !== undefined) this.#drop(channel, member, GIVEN_UP);
  }

  closed(channel: number, code: number, reason: string): void {
    const member = this.#members.get(channel);
    this.#members.delete(channel);
    member?.emit('close', { code, reason });
    this.#checkUse();
  }

  /** The messages of all sessions in a turn leave in one message. */
  writable(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #opened(): void {
    if (this.#socket.protocol === SHARED_SUBPROTOCOL) {
      this.#state = 'shared';
      this.#attach();
      return;
    }
    const members = this.#waiting;
    this.#waiting = [];
    this.#finish();
    const first = members.find(({ subprotocol }) => subprotocol === this.#socket.protocol);
    if (first === undefined) this.#socket.close(1000);
    else first.have(this.#socket);
    for (const member of members) if (member !== first) this.pool.wrap(this.url, member);
    first?.emit('open');
  }

  /** Opens a channel for each session that waits. */
  #attach(): void {
    const members = this.#waiting;
    this.#waiting = [];
    for (const member of members) {
      if (this.#state === 'shared') this.#open(member);
      else member.end();
    }
    this.#checkUse();
  }

  #open(member: Member): void {
    const out: Message[] = [];
    const channel = this.#channels.open(member.subprotocol, { next: () => out.shift() });
    const carrier: Carrier = {
      send: (message) => {
        out.push(message);
        this.#channels.ready(channel);
      },
      close: (code, reason) => this.#channels.close(channel, code, reason),
      terminate: () => {
        this.#isSuspect = true;
        this.#drop(channel, member, GIVEN_UP);
      },
    };
    member.carrier = carrier;
    this.#members.set(channel, member);
    member.emit('open');
  }

  /** Ends a session without waiting for the server. */
  #drop(channel: number, member: Member, code: number): void {
    this.#channels.close(channel, code, '');
    if (this.#members.delete(channel)) member.end();
    this.#checkUse();
  }

  #receive(data: unknown): void {
    if (this.#state !== 'shared') return;
    this.#isSuspect = false;
    try {
      if (!(data instanceof ArrayBuffer)) throw new ChannelFault(0, 'a text message');
      this.#channels.receive(new Uint8Array(data));
    } catch (error) {
      if (!(error instanceof ChannelFault)) throw error;
      this.#cut();
      this.#lost(0, error.message);
    }
  }

  #flush(): void {
    if (this.#state !== 'shared') return;
    for (let message = this.#channels.takeMessage(); message !== undefined; message = this.#channels.takeMessage())
      this.#socket.send(message);
  }

  /** The socket is closed: each of its sessions gets the events of a lost socket. */
  #lost(code: number, reason: string): void {
    this.#finish();
    const members = [...this.#members.values(), ...this.#waiting];
    this.#members.clear();
    this.#waiting = [];
    for (const member of members) {
      member.emit('error', { message: reason });
      member.emit('close', { code: code || 1006, reason });
    }
  }

  /** No session uses it: it stays for a while, unless it may be dead, or would keep the process alive. */
  #checkUse(): void {
    if (this.#members.size > 0 || this.#waiting.length > 0 || this.#state === 'done') return;
    const tcp = this.#socket._socket;
    if (this.#state === 'connecting' || this.#isSuspect) this.#cut();
    else if (tcp == null) this.#end();
    else if (this.#linger === undefined) {
      tcp.unref();
      this.#linger = setTimeout(() => this.#end(), LINGER_MS).unref();
    }
  }

  #keepAlive(): void {
    if (this.#linger === undefined) return;
    clearTimeout(this.#linger);
    this.#linger = undefined;
    this.#socket._socket?.ref();
  }

  /** Closes it in good order. */
  #end(): void {
    this.#flush();
    this.#finish();
    this.#socket.close(1000);
  }

  /** Closes it at once. */
  #cut(): void {
    this.#finish();
    if (this.#socket.terminate === undefined) this.#socket.close(1000);
    else this.#socket.terminate();
  }

  #finish(): void {
    this.#state = 'done';
    clearTimeout(this.#linger);
    this.pool.remove(this);
  }
}

/** The sockets of a process, made with one class. */
class Pool {
  readonly #shared = new Set<SharedSocket>();

  constructor(readonly Base: WebSocketConstructor) {}

  /** @throws the errors of a WebSocket's constructor */
  open(url: string, subprotocol: string, credentials: unknown): WebSocketLike {
    const fits = (one: SharedSocket): boolean => one.isOpen && one.url === url && one.credentials === credentials;
    let socket = [...this.#shared].find(fits);
    if (socket === undefined) {
      socket = new SharedSocket(this, url, credentials, subprotocol);
      this.#shared.add(socket);
    }
    const member = new Member(subprotocol);
    socket.add(member);
    return member;
  }

  /** A session gets a socket of its own. */
  wrap(url: string, member: Member): void {
    try {
      member.have(new this.Base(url, [member.subprotocol]));
    } catch (error) {
      member.end(String(error));
    }
  }

  remove(socket: SharedSocket): void {
    this.#shared.delete(socket);
  }
}

const pools = new Map<WebSocketConstructor, Pool>();

/**
 * A WebSocket class whose sockets are channels of shared sockets, made with `Base`.
 * @param credentials of the session, or the function that gives them: only sessions with the same share a socket
 */
export function sharedWebSocket(Base: WebSocketConstructor, credentials: unknown): WebSocketConstructor {
  const pool = pools.get(Base) ?? new Pool(Base);
  pools.set(Base, pool);
  return new Proxy(Base, {
    construct: (_, [url, [subprotocol]]: [string, [string]]) => pool.open(url, subprotocol, credentials),
  });
}

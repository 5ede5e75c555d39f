import fc from 'fast-check';
import { type ChannelEvents, type ChannelRefusal, type ChannelRules, Channels, NO_ROOM } from './channels.js';
import { CHANNEL_LIMITS, ChannelFault, ENTRY, ENTRY_HEADER_BYTES, EntryWriter, MAX_MESSAGE_BYTES } from './entries.js';

const { windowBytes, chunkBytes } = CHANNEL_LIMITS;
const RULES: ChannelRules = { maxMessageBytes: 8 * 2 ** 20, partialsOut: Number.POSITIVE_INFINITY, partialsIn: 4 };

/** One side of a socket, and all its events. */
class Side implements ChannelEvents {
  readonly channels: Channels;
  readonly log: string[] = [];
  readonly messages = new Map<number, (string | Uint8Array)[]>();
  /** The messages that each channel has to send. */
  readonly queues = new Map<number, (string | Uint8Array)[]>();
  opened?: NonNullable<ChannelEvents['opened']>;

  constructor(accepts: boolean, rules: Partial<ChannelRules> = {}) {
    this.channels = new Channels(this, { ...RULES, ...rules });
    if (accepts)
      this.opened = (channel, subprotocol) => {
        this.log.push(`open ${channel} ${subprotocol}`);
        return this.#source(channel);
      };
  }

  open(): number {
    const queue: (string | Uint8Array)[] = [];
    const channel = this.channels.open('x', { next: () => queue.shift() });
    this.queues.set(channel, queue);
    return channel;
  }

  send(channel: number, message: string | Uint8Array): void {
    this.queues.get(channel)!.push(message);
    this.channels.ready(channel);
  }

  received(channel: number, payload: Uint8Array, isText: boolean): void {
    const message = isText ? new TextDecoder().decode(payload) : payload.slice();
    const messages = this.messages.get(channel) ?? [];
    messages.push(message);
    this.messages.set(channel, messages);
  }

  refused(channel: number, why: ChannelRefusal): void {
    this.log.push(`refused ${channel} ${why}`);
    this.channels.close(channel, NO_ROOM.code, NO_ROOM.reason);
  }

  closed(channel: number, code: number, reason: string): void {
    this.log.push(`closed ${channel} ${code} ${reason}`);
  }

  writable(): void {}

  #source(channel: number) {
    const queue: (string | Uint8Array)[] = [];
    this.queues.set(channel, queue);
    return { next: () => queue.shift() };
  }
}

/** Carries messages between two sides until there are none. @returns the entries as `kind channel length` */
function carry(client: Side, server: Side): string[] {
  const entries: string[] = [];
  for (;;) {
    const [out, back] = [client.channels.takeMessage(), server.channels.takeMessage()];
    if (out === undefined && back === undefined) return entries;
    for (const [message, to] of [
      [out, server],
      [back, client],
    ] as const) {
      if (message === undefined) continue;
      entries.push(...entriesOf(message));
      to.channels.receive(message);
    }
  }
}

function entriesOf(message: Uint8Array): string[] {
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  const entries: string[] = [];
  for (let at = 0; at < message.length; at += ENTRY_HEADER_BYTES + view.getUint32(at + 5))
    entries.push(`${message[at]} ${view.getUint32(at + 1)} ${view.getUint32(at + 5)}`);
  return entries;
}

function pair(rules: Partial<ChannelRules> = {}): { client: Side; server: Side } {
  return {
    client: new Side(false, { partialsOut: 4, partialsIn: Number.POSITIVE_INFINITY }),
    server: new Side(true, rules),
  };
}

/** A message of entries, as a peer may make it. */
function raw(
  ...entries: readonly (readonly [kind: number, channel: number, payload?: Uint8Array | string])[]
): Uint8Array {
  const writer = new EntryWriter();
  for (const [kind, channel, payload = ''] of entries)
    writer.bytes(kind, channel, typeof payload === 'string' ? new TextEncoder().encode(payload) : payload);
  return writer.take();
}

const faultOf = (run: () => void): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof ChannelFault) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'none';
};

describe('the channels of a shared socket', () => {
  it('what all channels send in a turn leaves in one message, each after its open', () => {
    const { client, server } = pair();
    const channels = [client.open(), client.open(), client.open()];
    for (const channel of channels) client.send(channel, `hello ${channel}`);
    const message = client.channels.takeMessage()!;
    expect(entriesOf(message)).toEqual(['1 1 1', '3 1 7', '1 2 1', '3 2 7', '1 3 1', '3 3 7']);
    expect(client.channels.takeMessage()).toBeUndefined();
    server.channels.receive(message);
    expect(server.log).toEqual(['open 1 x', 'open 2 x', 'open 3 x']);
    expect(channels.map((channel) => server.messages.get(channel))).toEqual([['hello 1'], ['hello 2'], ['hello 3']]);
  });

  it('the bytes of each kind of entry stay as they are', () => {
    const writer = new EntryWriter();
    writer.open(1, 'x');
    writer.bytes(ENTRY.part, 1, Uint8Array.of(7));
    writer.text(1, 'é');
    writer.bytes(ENTRY.bytes, 0x01020304, Uint8Array.of(8, 9));
    writer.close(2, 1013, 'no');
    writer.credit(3, 65536);
    expect(Buffer.from(writer.take()).toString('hex')).toBe(
      '01000000010000000178' +
        '02000000010000000107' +
        '030000000100000002c3a9' +
        '0401020304000000020809' +
        '05000000020000000403f56e6f' +
        '06000000030000000400010000',
    );
  });

  it('a large message goes in parts, and small ones of other channels go between them', () => {
    const { client, server } = pair();
    const [large, small] = [client.open(), client.open()];
    carry(client, server);
    server.send(large, 'é'.repeat(3 * chunkBytes));
    server.send(small, 'short');
    const first = server.channels.takeMessage()!;
    expect(first.length).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    server.send(small, 'and another');
    client.channels.receive(first);
    for (let i = 0; i < 2; i++) client.channels.receive(server.channels.takeMessage()!);
    expect(client.messages.get(small)).toEqual(['short', 'and another']);
    expect(client.messages.get(large)).toBeUndefined();
    carry(client, server);
    expect(client.messages.get(large)).toEqual(['é'.repeat(3 * chunkBytes)]);
  });

  it('a channel whose peer takes nothing in sends a window, and the other channels go on', () => {
    const { client, server } = pair();
    const [slow, other] = [client.open(), client.open()];
    carry(client, server);
    client.channels.pause(slow);
    for (let i = 0; i < 100; i++) server.send(slow, new Uint8Array(chunkBytes));
    carry(client, server);
    expect(server.queues.get(slow)!.length).toBe(100 - Math.floor(windowBytes / (chunkBytes + ENTRY_HEADER_BYTES)) - 1);
    expect(server.channels.isIdle(slow)).toBe(false);
    server.send(other, 'goes on');
    carry(client, server);
    expect(client.messages.get(other)).toEqual(['goes on']);
    expect(client.messages.get(slow)).toBeUndefined();
    client.channels.resume(slow);
    // It read all held messages, and reads later ones at once.
    carry(client, server);
    expect(client.messages.get(slow)!.length).toBe(100);
    expect(server.channels.isIdle(slow)).toBe(true);
  });

  it('a peer that sends more than it was granted ends the socket', () => {
    const { client, server } = pair();
    client.open();
    carry(client, server);
    const entry = raw([ENTRY.bytes, 1, new Uint8Array(chunkBytes)]);
    server.channels.pause(1);
    const fault = faultOf(() => {
      for (let sent = 0; sent <= windowBytes; sent += chunkBytes) server.channels.receive(entry);
    });
    expect(fault).toBe('4400 channel 1 was sent more than granted');
  });

  it('a number is free when both sides have closed its channel, and what comes for it is dropped', () => {
    const { client, server } = pair();
    const channel = client.open();
    carry(client, server);
    server.send(channel, 'last');
    server.channels.close(channel, 1012, 'restart');
    client.send(channel, 'crosses the close');
    const [request, close] = [client.channels.takeMessage()!, server.channels.takeMessage()!];
    server.channels.receive(request);
    expect(server.messages.get(channel)).toBeUndefined();
    expect(server.channels.size).toBe(1);
    client.channels.receive(close);
    expect(client.messages.get(channel)).toEqual(['last']);
    expect(client.log).toEqual(['closed 1 1012 restart']);
    carry(client, server);
    expect([client.channels.size, server.channels.size]).toEqual([0, 0]);
    server.channels.receive(raw([ENTRY.text, channel, 'late'], [ENTRY.close, channel, Uint8Array.of(3, 232)]));
    expect(server.messages.get(channel)).toBeUndefined();
    expect(server.log.filter((event) => event.startsWith('closed'))).toEqual(['closed 1 1012 ']);
  });

  it('a message after a close in the same message is dropped', () => {
    const { server } = pair();
    server.channels.receive(
      raw([ENTRY.open, 1, 'x'], [ENTRY.close, 1, Uint8Array.of(3, 232)], [ENTRY.text, 1, 'late'], [ENTRY.text, 1, '']),
    );
    expect(server.messages.size).toBe(0);
  });

  it('a close does not wait for a peer that takes nothing in', () => {
    const { client, server } = pair();
    const channel = client.open();
    carry(client, server);
    client.channels.pause(channel);
    for (let i = 0; i < 40; i++) server.send(channel, new Uint8Array(chunkBytes));
    carry(client, server);
    server.channels.close(channel, 1012, '');
    carry(client, server);
    expect(client.log).toEqual(['closed 1 1012 ']);
    expect([client.channels.size, server.channels.size]).toEqual([0, 0]);
  });

  it.each<[string, Uint8Array]>([
    ['4400 channel 2 was never opened', raw([ENTRY.text, 2, 'a'])],
    ['4400 channel 1 has been used', raw([ENTRY.open, 1, 'x'])],
    ['4400 channel 0 has been used', raw([ENTRY.open, 0, 'x'])],
    ['4400 a part is empty', raw([ENTRY.part, 1])],
    ['4400 an entry is of no known kind', raw([7, 1])],
    ['4400 an entry is cut off', raw([ENTRY.text, 1, 'abc']).subarray(0, 11)],
    ['4400 an entry is cut off', Uint8Array.of(3)],
    ['4400 a close is damaged', raw([ENTRY.close, 1, Uint8Array.of(3)])],
    ['4400 a close has no valid code', raw([ENTRY.close, 1, Uint8Array.of(0, 1)])],
    ['4400 a credit is damaged', raw([ENTRY.credit, 1, Uint8Array.of(1)])],
    ['4400 channel 1 was granted too much', raw([ENTRY.credit, 1, Uint8Array.of(0, 0, 0, 1)])],
    ['4400 a subprotocol is too long', raw([ENTRY.open, 2, 'x'.repeat(65)])],
    ['4400 a payload is too large', Uint8Array.of(3, 0, 0, 0, 1, 0, 1, 0, 1)],
    ['1009 a message is too large', new Uint8Array(MAX_MESSAGE_BYTES + 1)],
  ])('what breaks a rule ends the socket: %s', (fault, message) => {
    const { client, server } = pair();
    client.open();
    carry(client, server);
    expect(faultOf(() => server.channels.receive(message))).toBe(fault);
  });

  it('a server opens no channel', () => {
    const { client } = pair();
    expect(faultOf(() => client.channels.receive(raw([ENTRY.open, 1, 'x'])))).toBe('4400 only clients open channels');
  });

  it('a message has a bounded number of entries', () => {
    const { client, server } = pair();
    client.open();
    carry(client, server);
    const entry = [...raw([ENTRY.text, 1])];
    const message = Uint8Array.from(Array.from({ length: CHANNEL_LIMITS.entries + 1 }, () => entry).flat());
    expect(faultOf(() => server.channels.receive(message))).toBe('4400 a message has too many entries');
  });

  it('channels beyond the bound are refused, and a peer that goes on without reading that ends its socket', () => {
    const { server } = pair();
    let last = 0;
    const open = (): void => server.channels.receive(raw([ENTRY.open, ++last, 'x']));
    while (last < CHANNEL_LIMITS.channels) open();
    expect(server.channels.size).toBe(CHANNEL_LIMITS.channels);
    open();
    expect(entriesOf(server.channels.takeMessage()!)).toEqual([`5 ${last} ${2 + NO_ROOM.reason.length}`]);
    expect(server.log.length).toBe(CHANNEL_LIMITS.channels);
    const fault = faultOf(() => {
      for (let i = 0; i <= CHANNEL_LIMITS.entries; i++) open();
    });
    expect(fault).toBe('4400 too many channels are opened');
  });

  it('parts of many messages at once end the socket, and a client sends no more of them than are allowed', () => {
    const { client, server } = pair();
    const channels = Array.from({ length: 6 }, () => client.open());
    for (const channel of channels) client.send(channel, new Uint8Array(3 * chunkBytes).fill(channel));
    carry(client, server);
    expect(channels.map((channel) => server.messages.get(channel)?.[0]?.length)).toEqual(
      channels.map(() => 3 * chunkBytes),
    );
    const part = new Uint8Array(10);
    for (const channel of channels.slice(0, 4)) server.channels.receive(raw([ENTRY.part, channel, part]));
    expect(faultOf(() => server.channels.receive(raw([ENTRY.part, channels[4]!, part])))).toBe(
      '4400 too many messages are sent in parts',
    );
  });

  it('a closed channel gives its place among the messages in parts to the next one', () => {
    const { client, server } = pair();
    const channels = Array.from({ length: 4 }, () => client.open());
    carry(client, server);
    const part = new Uint8Array(10);
    for (const channel of channels) server.channels.receive(raw([ENTRY.part, channel, part]));
    server.channels.receive(raw([ENTRY.close, channels[0]!, Uint8Array.of(3, 232)], [ENTRY.open, 5, 'x']));
    server.channels.receive(raw([ENTRY.part, 5, part]));
    expect(server.channels.size).toBe(5);
  });

  it('a place among the messages in parts passes on from channels that have no credit to one that has', () => {
    const { client, server } = pair();
    const stuck = Array.from({ length: 4 }, () => client.open());
    const [large, last] = [Array.from({ length: 4 }, () => client.open()), client.open()];
    carry(client, server);
    for (const channel of stuck) {
      server.channels.pause(channel);
      for (let i = 0; i < 15; i++) client.send(channel, new Uint8Array(chunkBytes));
    }
    carry(client, server);
    for (const channel of [...large, ...stuck, last]) client.send(channel, new Uint8Array(3 * chunkBytes));
    carry(client, server);
    expect(server.messages.get(last)?.map((message) => message.length)).toEqual([3 * chunkBytes]);
    for (const channel of stuck) server.channels.resume(channel);
    carry(client, server);
    expect(stuck.map((channel) => server.messages.get(channel)!.at(-1)!.length)).toEqual(
      stuck.map(() => 3 * chunkBytes),
    );
  });

  it('a channel that is closed before it used its place among the messages in parts passes it on', () => {
    const client = new Side(false, { partialsOut: 1 });
    const [first, closed, last] = [client.open(), client.open(), client.open()];
    for (const channel of [first, closed, last]) client.send(channel, new Uint8Array(2 * chunkBytes));
    const taken = [client.channels.takeMessage()!, client.channels.takeMessage()!].flatMap(entriesOf);
    expect(taken).toContain(`4 ${first} ${chunkBytes}`);
    expect(taken).not.toContain(`2 ${closed} ${chunkBytes}`);
    client.channels.receive(raw([ENTRY.close, closed, Uint8Array.of(3, 232)]));
    const rest = Array.from({ length: 3 }, () => client.channels.takeMessage()).filter(
      (message) => message !== undefined,
    );
    expect(rest.flatMap(entriesOf)).toContain(`4 ${last} ${chunkBytes}`);
  });

  it('a message above the limit is refused on its channel alone, in parts or whole', () => {
    const { client, server } = pair({ maxMessageBytes: 2 * chunkBytes });
    const [large, small, other] = [client.open(), client.open(), client.open()];
    client.send(large, new Uint8Array(5 * chunkBytes));
    client.send(other, 'goes on');
    carry(client, server);
    expect(server.log).toContain(`refused ${large} too large`);
    expect(client.log).toEqual([`closed ${large} ${NO_ROOM.code} ${NO_ROOM.reason}`]);
    const tight = pair({ maxMessageBytes: 10 });
    tight.client.open();
    tight.client.send(1, 'more than ten');
    carry(tight.client, tight.server);
    expect(tight.server.log).toContain('refused 1 too large');
    expect(server.messages.get(other)).toEqual(['goes on']);
    client.send(small, 'and on');
    carry(client, server);
    expect(server.messages.get(small)).toEqual(['and on']);
  });

  it('a channel may have a limit of its own', () => {
    const { client, server } = pair();
    const [narrow, wide] = [client.open(), client.open()];
    carry(client, server);
    server.channels.limit(narrow, chunkBytes);
    for (const channel of [narrow, wide]) client.send(channel, new Uint8Array(chunkBytes + 1));
    carry(client, server);
    expect(server.log).toContain(`refused ${narrow} too large`);
    expect(server.messages.get(wide)?.[0]?.length).toBe(chunkBytes + 1);
  });

  it('what paused channels of a socket hold is bounded', () => {
    const { client, server } = pair();
    for (let sent = 0; sent <= CHANNEL_LIMITS.heldBytes / windowBytes + 1; sent++) {
      const channel = client.open();
      carry(client, server);
      server.channels.pause(channel);
      for (let i = 0; i < 15; i++) client.send(channel, new Uint8Array(chunkBytes));
      carry(client, server);
    }
    expect(server.log.filter((event) => event.includes('too much')).length).toBe(1);
  });

  it('small messages that are held count with what they take, not only with their bytes', () => {
    const { server } = pair();
    const entries = Array.from({ length: CHANNEL_LIMITS.entries }, () => [...raw([ENTRY.text, 1, '.'])]).flat();
    let count = 0;
    const send = (channel: number): void => {
      const message = Uint8Array.from(entries, (byte, i) => (i % (ENTRY_HEADER_BYTES + 1) === 4 ? channel : byte));
      // As many as the window allows.
      for (let i = 0; i < 25; i++) server.channels.receive(message);
    };
    while (count < 5 && !server.log.some((event) => event.includes('too much'))) {
      server.channels.receive(raw([ENTRY.open, ++count, 'x']));
      server.channels.pause(count);
      send(count);
    }
    expect(count).toBeLessThan(3);
  });
});

describe('whatever the peer sends', () => {
  const entry = fc.tuple(
    fc.integer({ min: 0, max: 8 }),
    fc.integer({ min: 0, max: 6 }),
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constant(new Uint8Array(chunkBytes)),
      fc.constant(Uint8Array.of(3, 232)),
    ),
  );
  const message = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(entry, { maxLength: 6 }).map((entries) => {
      const size = entries.reduce((sum, [, , payload]) => sum + payload.length, 0);
      return size > MAX_MESSAGE_BYTES / 2 ? new Uint8Array() : raw(...entries);
    }),
  );
  const step = fc.oneof(message, fc.tuple(fc.constantFrom('pause', 'resume', 'close', 'send', 'take'), fc.nat(6)));

  it('nothing but a ChannelFault is thrown, messages come from open channels, and each channel is closed once', () => {
    const property = fc.property(fc.boolean(), fc.array(step, { maxLength: 60 }), (accepts, steps) => {
      const side = new Side(accepts, { maxMessageBytes: 3 * chunkBytes });
      if (!accepts) for (let i = 0; i < 4; i++) side.open();
      const act = (one: (typeof steps)[number]): void => {
        if (one instanceof Uint8Array) side.channels.receive(one);
        else if (one[0] === 'take') side.channels.takeMessage();
        else if (one[0] === 'send' && side.queues.has(one[1])) side.send(one[1], 'x'.repeat(100 * one[1]));
        else if (one[0] === 'close') side.channels.close(one[1], 1000, '');
        else if (one[0] === 'pause') side.channels.pause(one[1]);
        else if (one[0] === 'resume') side.channels.resume(one[1]);
      };
      for (const one of steps) if (faultOf(() => act(one)) !== 'none') break;
      const closed = side.log.filter((event) => event.startsWith('closed')).map((event) => event.split(' ')[1]);
      expect(new Set(closed).size).toBe(closed.length);
      for (const channel of side.messages.keys()) expect(side.queues.has(channel)).toBe(true);
    });
    fc.assert(property, { numRuns: 2000 });
  });

  it('every message arrives once, whole and in the order of its channel, however turns fall', () => {
    const length = fc.oneof(
      fc.nat(300),
      fc.integer({ min: chunkBytes - 2, max: chunkBytes + 2 }),
      fc.nat(5 * chunkBytes),
    );
    const send = fc.record({ channel: fc.nat(5), length, back: fc.boolean(), text: fc.boolean(), take: fc.boolean() });
    const property = fc.property(fc.array(send, { maxLength: 40 }), (sends) => {
      const { client, server } = pair();
      const channels = Array.from({ length: 6 }, () => client.open());
      carry(client, server);
      const expected = new Map<string, (string | Uint8Array)[]>();
      sends.forEach(({ channel: index, length: size, back, text, take }, i) => {
        const [from, to] = back ? [server, client] : [client, server];
        const channel = channels[index]!;
        const sent = text ? String(i % 10).repeat(size) : new Uint8Array(size).fill(i);
        const key = `${back} ${channel}`;
        expected.set(key, [...(expected.get(key) ?? []), sent]);
        from.send(channel, sent);
        const taken = take ? from.channels.takeMessage() : undefined;
        if (taken !== undefined) to.channels.receive(taken);
      });
      carry(client, server);
      for (const [key, messages] of expected) {
        const [back, channel] = key.split(' ');
        const side = back === 'true' ? client : server;
        expect(side.messages.get(Number(channel))?.map((one) => String(one))).toEqual(
          messages.map((one) => String(one)),
        );
      }
    });
    fc.assert(property, { numRuns: 60 });
  });
});

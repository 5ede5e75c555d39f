/** The token of a session whose client changes from one connection to another. */
import { World } from '@isochron/testing/client/world';
import { memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';

interface Leaving {
  /** When the home node asked its client to leave, ms ago. */
  readonly ms: number;
  /** Of the other node. */
  readonly credits?: number;
  /** Stable time rises, and answers have new tokens. */
  readonly rises?: boolean;
}

/** The home node has asked its client to leave, and still owes the answer to a commit. */
function leaving({ ms, credits, rises = false }: Leaving) {
  const [home, other] = memoryNodes('east', 'west');
  for (const node of [home, other]) node.lacks('chained-commits');
  other.delayMs = 10;
  other.credits = credits ?? other.credits;
  if (!rises) other.cluster.hold();
  const world = new World([home, other]);
  expect(world.ask({ f: 'connect' }).settled).toBe(1);
  home.script = ({ type }) => (type === 'commit' ? 'hold' : undefined);
  world.write('a');
  world.run(5);
  const { core } = world.machine;
  const before = core.currentToken();
  home.push({ type: 'goaway', reason: 'restart', delayMs: 60_000 });
  world.run(ms);
  return {
    world,
    home,
    other,
    before,
    answer: () => home.letGo(),
    token: () => core.currentToken(),
    /** The token of the answer to the commit. */
    owed: () => home.answers('committed')[0]!.token,
    /** The tokens of the answers that have both. */
    both: () => other.answers('pong').map((pong) => pong.token),
    region: () => core.connector.current?.region,
  };
}

describe('the token of a session between two connections', () => {
  it('a token that came while a connection was opened is sent on that one, whose answer has both', () => {
    const { world, other, before, answer, token, owed, both, region } = leaving({ ms: 25 });
    expect(other.received('hello').at(-1)?.token).toBe(before);
    answer();
    world.run(100);
    expect(region()).toBe('west');
    expect(other.received('ping').map((ping) => ping.token)).toContain(owed());
    expect([owed(), ...both()]).toContain(token());
    expect([token() === before, world.violations]).toEqual([false, []]);
  });

  it('the token of an older connection is sent as soon as a credit is free', () => {
    const { world, other, answer, token, owed, both, region } = leaving({ ms: 80, credits: 2 });
    other.script = ({ type }) => (type === 'read' ? 'hold' : undefined);
    for (const key of ['a', 'b']) world.read(key);
    world.run(20);
    answer();
    world.run(20);
    expect(region()).toBe('west');
    expect(other.received('ping').map((ping) => ping.token)).not.toContain(owed());
    other.letGo();
    world.run(100);
    expect(other.received('ping').map((ping) => ping.token)).toContain(owed());
    expect([owed(), ...both()]).toContain(token());
    expect(world.violations).toEqual([]);
  });

  it('the token of an older connection is sent again after one that was lost before its answer had both', () => {
    const { world, home, other, answer, token, owed } = leaving({ ms: 80, rises: true });
    other.script = (frame) => {
      if (frame.type === 'read') return 'hold';
      return frame.type === 'ping' && frame.token ? 'drop' : undefined;
    };
    world.read('a');
    world.run(20);
    answer();
    world.run(20);
    other.letGo();
    world.run(20);
    const lone = other.answers('values')[0]!.token;
    expect(token()).toBe(lone);
    other.script = () => undefined;
    const sent = () =>
      [home, other].flatMap((node) => node.received('ping')).filter((ping) => ping.token === owed()).length;
    const before = sent();
    world.cut(other);
    world.run(500);
    expect(sent()).toBeGreaterThan(before);
    expect([token() === lone, world.violations]).toEqual([false, []]);
  });

  it.each([
    ['before its first request', 25],
    ['while it is in use', 80],
  ])('a connection whose node refuses the token %s is replaced by one that begins with it', (_when, ms) => {
    const { world, other, before, answer, owed } = leaving({ ms });
    let refusals = 0;
    other.script = (frame) => {
      if (frame.type !== 'ping' || frame.token === undefined || refusals > 0) return undefined;
      refusals++;
      return refusal(frame.id, 'TIMESTAMP_IN_FUTURE', true);
    };
    answer();
    const read = world.read('a');
    world.run(500);
    const hellos = other.received('hello').map((hello) => hello.token);
    expect([refusals, ...hellos.slice(-2)]).toEqual([1, before, owed()]);
    expect([read.settled, world.violations]).toEqual([1, []]);
  });
});

/** The token of a session whose client changes from one connection to another. */
import { refusal, ScriptedNode, ScriptedStore } from '@isochron/testing/client/scripted-node';
import { World } from '@isochron/testing/client/world';

/** The home node has asked its client to leave `ms` ago, and still owes the answer to a commit. */
function leaving({ ms, credits }: { ms: number; credits?: number }) {
  const store = new ScriptedStore();
  const [home, other] = ['east', 'west'].map((name) => new ScriptedNode(name, store)) as [ScriptedNode, ScriptedNode];
  other.delayMs = 10;
  other.credits = credits ?? other.credits;
  const world = new World([home, other]);
  expect(world.ask({ f: 'connect' }).settled).toBe(1);
  home.script = ({ type }) => (type === 'commit' ? 'drop' : undefined);
  world.write('a');
  world.run(5);
  const { id } = home.received('commit')[0]!;
  world.push(home, { type: 'goaway', reason: 'restart', delayMs: 60_000 });
  world.run(ms);
  const { core } = world.machine;
  return {
    world,
    other,
    answer: () => world.push(home, { type: 'committed', id, ts: 2000, token: 'east-w2000' }),
    token: () => core.currentToken(),
    region: () => core.connector.current?.region,
  };
}

describe('the token of a session between two connections', () => {
  it('a token that came while a connection was opened is sent on that one, whose answer has both', () => {
    const { world, other, answer, token, region } = leaving({ ms: 25 });
    expect(other.received('hello').at(-1)?.token).toBe('east-0');
    answer();
    world.run(100);
    expect(region()).toBe('west');
    expect(other.received('ping').map((ping) => ping.token)).toContain('east-w2000');
    expect([token(), world.violations]).toEqual(['east-w2000+', []]);
  });

  it('the token of an older connection is sent as soon as a credit is free', () => {
    const { world, other, answer, token, region } = leaving({ ms: 80, credits: 2 });
    other.script = ({ type }) => (type === 'read' ? 'drop' : undefined);
    for (const key of ['a', 'b']) world.read(key);
    world.run(20);
    answer();
    world.run(20);
    expect(region()).toBe('west');
    for (const { id } of other.received('read'))
      world.push(other, { type: 'values', id, snapshot: 1000, values: [null], token: 'west-1' });
    world.run(100);
    expect([token(), world.violations]).toEqual(['east-w2000+', []]);
  });

  it('the token of an older connection is sent again after one that was lost before its answer had both', () => {
    const { world, other, answer, token } = leaving({ ms: 80 });
    other.script = (frame) => (frame.type === 'read' || (frame.type === 'ping' && frame.token) ? 'drop' : undefined);
    world.read('a');
    world.run(20);
    answer();
    world.run(20);
    const { id } = other.received('read')[0]!;
    world.push(other, { type: 'values', id, snapshot: 1000, values: [null], token: 'west-1' });
    world.run(20);
    expect(token()).toBe('west-1');
    other.script = () => undefined;
    world.cut(other);
    world.run(500);
    expect([token(), world.violations]).toEqual(['east-w2000+', []]);
  });

  it.each([
    ['before its first request', 25],
    ['while it is in use', 80],
  ])('a connection whose node refuses the token %s is replaced by one that begins with it', (_when, ms) => {
    const { world, other, answer, token } = leaving({ ms });
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
    expect([refusals, ...hellos.slice(-2)]).toEqual([1, 'east-0', 'east-w2000']);
    expect([read.settled, token(), world.violations]).toEqual([1, 'east-w2000+', []]);
  });
});

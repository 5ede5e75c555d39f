/** The commands of a script that set up the world, let time pass, cause faults and show state. */
import type { NodeId } from '@isochron/core';
import { TestClient } from '../world/clients.js';
import { World } from '../world/world.js';
import { PROTOCOLS } from './script-protocols.js';
import { type ClusterOptions, patternOf, SCENE_COMMANDS } from './script-scene.js';
import { answered, awaitAnswer, SESSION_COMMANDS } from './script-sessions.js';
import { messageLine, SHOW } from './script-show.js';
import { Stage } from './script-stage.js';
import { durationOf, numberOf, oneOfWords, ScriptError, type Words, wordOfValue } from './script-words.js';

/** Carries a command out and returns the lines it shows. */
type Command = (stage: Stage, words: Words) => readonly string[];

/**
 * `cluster protocol=paris regions=3 nodes=1 partitions=6 replication=2 delay=1ms disk=1ms commitTimeoutMs=3000`, each
 * part optional.
 */
export function setUp(name: string, options: ClusterOptions): Stage {
  const protocol = PROTOCOLS[oneOfWords(name, Object.keys(PROTOCOLS))]!;
  const { delays, world } = options.read('2');
  return new Stage(new World({ ...world, ...protocol }), delays, protocol);
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  ...SCENE_COMMANDS,

  session: (stage, words) => {
    const name = words.next('a name');
    if (Object.hasOwn(COMMANDS, name)) throw new ScriptError(`a session cannot be called ${name}`);
    words.take('at');
    const node = stage.running(words.next('a node'));
    const id = `script-session-${name.padEnd(8, '-')}`;
    stage.sessions.set(name, new TestClient(stage.world, node, stage.world.newSession(id)));
    return [];
  },

  until: (stage, words) => {
    const condition = conditionOf(stage, words);
    words.end();
    stage.world.until(condition);
    return [];
  },

  await: (stage, words) => {
    const questions = stage.questionsOf(words.next('a transaction or a session'));
    const from = (node: NodeId) => (questions.length > 1 ? `${node}: ` : '');
    return questions.flatMap((question) => awaitAnswer(stage, question).map((line) => `${from(question.node)}${line}`));
  },

  release: (stage, words) => {
    const count = /^\d+$/.test(words.peek) ? numberOf(words.next('a number')) : Number.POSITIVE_INFINITY;
    return stage.network.release(patternOf(stage, words), count).map((envelope) => messageLine(stage, envelope));
  },

  watch: (stage, words) => {
    const keys = words.until('from', 'for').map((word) => stage.key(word));
    const from = words.take('from')
      ? words.until('for').map((word) => stage.running(word))
      : [...stage.world.nodes.keys()];
    const ms = durationOf(words.option('for') ?? '');
    return watch(stage, keys, from, ms);
  },

  show: (stage, words) => {
    const what = oneOfWords(words.next('what to show'), Object.keys(SHOW));
    return SHOW[what]!(stage, words);
  },
};

/** `alice read x@0`: sends the request and, unless it is `alice send read x@0`, waits for the answer. */
export function sessionCommand(stage: Stage, words: Words): readonly string[] {
  const name = words.next('a session');
  const session = { name, client: stage.session(name) };
  const sendsOnly = words.take('send');
  const command = oneOfWords(words.next(`what ${name} does`), Object.keys(SESSION_COMMANDS));
  const asked = SESSION_COMMANDS[command]!(stage, session, words);
  if ('shown' in asked) return asked.shown;
  return sendsOnly ? [] : awaitAnswer(stage, asked);
}

function conditionOf(stage: Stage, words: Words): () => boolean {
  const { world } = stage;
  const what = oneOfWords(words.next('a condition'), ['stable', 'prepared', 'ended', 'answered', 'held']);
  if (what === 'held') {
    const count = numberOf(words.next('a number'));
    return () => stage.network.held >= count;
  }
  const name = words.next('a transaction');
  if (what === 'answered') {
    const questions = stage.questionsOf(name);
    return () => questions.every((question) => answered(stage, question));
  }
  const named = stage.transaction(name);
  if (what === 'stable') return () => world.ust() >= (stage.ctOf(named) ?? Number.POSITIVE_INFINITY);
  const at = words.option('at');
  const nodes = at === undefined ? [...world.nodes.values()] : [world.node(stage.node(at))];
  const { id } = named.tx;
  if (what === 'prepared') {
    return () => nodes.some(({ store }) => store.undecided().some(({ txId }) => txId === id));
  }
  return () =>
    nodes.some(({ id: node, store }) =>
      world.topology.partitionsOn(node).some((partition) => store.end(partition, id) !== undefined),
    );
}

/** Reads the keys every millisecond at every node, each time in a transaction of its own, and shows every change. */
function watch(stage: Stage, keys: readonly string[], nodes: readonly NodeId[], ms: number): string[] {
  const { world } = stage;
  const asked = nodes.map((node) => ({ node, refs: [] as number[] }));
  for (let i = 0; i < ms; i++) {
    for (const { node, refs } of asked) {
      refs.push(world.ask(node, { type: 'ReadReq', txId: null, ust: 0, at: null, keys }));
    }
    world.run(1);
  }
  return asked.map(({ node, refs }) => {
    const seen = refs.flatMap((ref) => {
      const answer = world.answer(node, ref);
      if (answer === undefined) return [];
      return [answer.type === 'ReadResp' ? answer.versions.map((v) => wordOfValue(v?.value)).join(' ') : 'refused'];
    });
    return `${node}: ${seen.filter((values, i) => values !== seen[i - 1]).join(' | ')}`;
  });
}

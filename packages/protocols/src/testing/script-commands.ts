/** The commands of a script that set the world up, let time pass, break things and look. */
import type { ClusterSpec, NodeId } from '@isochron/core';
import { ParisSession } from '../paris/session.js';
import { DEFAULT_PARIS_SETTINGS, type ParisSettings } from '../paris/settings.js';
import { TestClient } from './clients.js';
import { answered, awaitAnswer, SESSION_COMMANDS } from './script-sessions.js';
import { messageLine, patternOf, SHOW } from './script-show.js';
import { Stage } from './script-stage.js';
import { durationOf, numberOf, oneOfWords, ScriptError, type Words, wordOfValue } from './script-words.js';
import { World } from './world.js';

/** Carries a command out and returns the lines it shows. */
type Command = (stage: Stage, words: Words) => readonly string[];

const REGIONS = ['virginia', 'oregon', 'ireland', 'mumbai', 'sydney'];

/** `cluster regions=3 nodes=1 partitions=6 replication=2 delay=1ms disk=1ms commitTimeoutMs=3000`, each part optional. */
export function setUp(words: Words): { stage: Stage; shown: string[] } {
  const options = new Map(words.until().map((word) => word.split('=', 2) as [string, string]));
  const take = (name: string, otherwise: string): string => {
    const value = options.get(name) ?? otherwise;
    options.delete(name);
    return value;
  };
  const spec = specOf(take('regions', '3'), take('nodes', '1'), take('partitions', '6'), take('replication', '2'));
  const delays = new Map([['', durationOf(take('delay', '1ms'))]]);
  const syncMs = durationOf(take('disk', '1ms'));
  const settings = Object.fromEntries([...options].map(([name, value]) => [settingOf(name), numberOf(value)]));
  const delayMs = (from: NodeId, to: NodeId) => delays.get(linkOf(from, to)) ?? delays.get('')!;
  const stage = new Stage(new World({ spec, settings, delayMs, syncMs }), delays);
  const places = stage.world.topology.partitions.map(({ id, regions }) => `${id} ${regions.join('+')}`);
  return { stage, shown: [`partitions: ${places.join(', ')}`] };
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  session: (stage, words) => {
    const name = words.next('a name');
    if (Object.hasOwn(COMMANDS, name)) throw new ScriptError(`a session cannot be called ${name}`);
    words.take('at');
    const node = stage.running(words.next('a node'));
    const id = `script-session-${name.padEnd(8, '-')}`;
    stage.sessions.set(name, new TestClient(stage.world, node, new ParisSession(id)));
    return [];
  },

  run: (stage, words) => {
    const to = words.option('to');
    const ms = to === undefined ? durationOf(words.next('a duration')) : durationOf(to) - stage.elapsedMs;
    if (ms < 0) throw new ScriptError(`it is ${stage.elapsedMs} ms already`);
    stage.world.run(ms);
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

  delay: (stage, words) => {
    const ms = durationOf(words.next('a duration'));
    const [a, b] = [words.option('between'), words.option('and')];
    if (a === undefined || b === undefined) stage.delays.set('', ms);
    else stage.delays.set(linkOf(stage.node(a), stage.node(b)), ms);
    return [];
  },

  cut: (stage, words) => {
    for (const [a, b] of linksOf(stage, words)) stage.world.cut(a, b);
    return [];
  },

  heal: (stage, words) => {
    for (const [a, b] of linksOf(stage, words)) stage.world.heal(a, b);
    return [];
  },

  crash: (stage, words) => {
    stage.world.crash(stage.running(words.next('a node')));
    return [];
  },

  restart: (stage, words) => {
    const node = stage.node(words.next('a node'));
    if (stage.world.node(node).up) throw new ScriptError(`${node} is running`);
    stage.world.restart(node);
    return [];
  },

  skew: (stage, words) => {
    const node = stage.world.node(stage.node(words.next('a node')));
    node.skewMs = durationOf(words.next('a duration'));
    return [];
  },

  disk: (stage, words) => {
    stage.world.diskMs.set(stage.node(words.next('a node')), durationOf(words.next('a duration')));
    return [];
  },

  hold: (stage, words) => {
    stage.network.hold(patternOf(stage, words));
    return [];
  },

  drop: (stage, words) => {
    stage.network.drop(patternOf(stage, words));
    return [];
  },

  pass: (stage) => {
    stage.network.pass();
    return [];
  },

  release: (stage, words) => {
    const count = /^\d+$/.test(words.peek) ? numberOf(words.next('a number')) : Number.POSITIVE_INFINITY;
    return stage.network.release(patternOf(stage, words), count).map((envelope) => messageLine(stage, envelope));
  },

  forget: (stage, words) => {
    oneOfWords(words.next('what to forget'), ['sent']);
    stage.shownMessages = stage.world.sent.length;
    return [];
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
    return () => nodes.some(({ store }) => [...store.prepared.values()].some(({ txId }) => txId === id));
  }
  return () => nodes.some(({ store }) => [...store.outcomes.keys()].some((key) => key.endsWith(`|${id}`)));
}

/** `virginia-1 oregon-1`, or all links of one node. */
function linksOf(stage: Stage, words: Words): [NodeId, NodeId][] {
  const a = stage.node(words.next('a node'));
  if (!words.atEnd) return [[a, stage.node(words.next('a node'))]];
  return stage.world.topology.nodes.filter((b) => b !== a).map((b) => [a, b]);
}

/** Reads the keys every millisecond at every node, each time in a transaction of its own, and shows what changed from one to the next. */
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

function specOf(regions: string, nodes: string, partitions: string, replication: string): ClusterSpec {
  const ids = REGIONS.slice(0, numberOf(regions));
  const nodesOf = (region: string) => Array.from({ length: numberOf(nodes) }, (_, i) => ({ id: `${region}-${i + 1}` }));
  return {
    regions: ids.map((id) => ({ id, nodes: nodesOf(id) })),
    keyspaces: [{ name: 'default', partitions: numberOf(partitions), replication: numberOf(replication) }],
  };
}

const settingOf = (name: string): keyof ParisSettings =>
  oneOfWords(name, Object.keys(DEFAULT_PARIS_SETTINGS) as (keyof ParisSettings)[]);

const linkOf = (a: NodeId, b: NodeId): string => (a < b ? `${a}|${b}` : `${b}|${a}`);

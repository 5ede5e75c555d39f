/**
 * Scripts of protocols of single operations: the commands of sessions, and what can be shown. Everything else is as in
 * all scripts (`script-scene.ts`). The language is described in `kernel/operations/SPEC.md`.
 */
import type { Dependency, Deps, NodeId, StoredVersion, TxId } from '@isochron/core';
import { OPERATION_PROTOCOLS } from '@isochron/protocols/catalogue';
import { elementsOf, matrixSession } from '@isochron/protocols/kernel/operations/dependency-matrix';
import type { OperationMessage, OperationResponse } from '@isochron/protocols/kernel/operations/messages';
import { operationSchema } from '@isochron/protocols/kernel/operations/messages';
import type { OperationBody } from '@isochron/protocols/kernel/operations/session';
import type { Envelope } from '@isochron/protocols/machine';
import type { OperationName } from '@isochron/protocols/session-rules';
import { blockedIn, OperationClient, OperationWorld } from '../world/operation-world.js';
import { matches, ScriptNetwork } from './script-network.js';
import { type ClusterOptions, type Play, patternOf, SCENE_COMMANDS, Scene } from './script-scene.js';
import { numberOf, oneOfWords, ScriptError, valueOfWord, type Words, wordOfValue } from './script-words.js';

/** A session, and its pending request. */
interface Actor {
  readonly name: string;
  readonly client: OperationClient;
  waiting: { readonly body: OperationBody; readonly ref: number; readonly node: NodeId } | undefined;
}

class OperationStage extends Scene {
  readonly network: ScriptNetwork<OperationMessage>;
  readonly actors = new Map<string, Actor>();

  constructor(
    override readonly world: OperationWorld,
    delays: Map<string, number>,
  ) {
    super(world, delays, Object.keys(operationSchema));
    this.network = new ScriptNetwork(world);
  }

  actor(name: string): Actor {
    const found = this.actors.get(name);
    if (found === undefined) throw new ScriptError(`there is no command and no session "${name}"`);
    return found;
  }

  /** Dependencies, by name; in brackets those that another one depends on. */
  named(depends: readonly Dependency[]): string {
    const { regions } = this.world.topology;
    const nameOf = ({ key, source, ts }: Dependency) =>
      `${this.keyName(key)} of ${regions[source]} at ${this.time(ts)}`;
    return depends.map((each) => (each.near ? nameOf(each) : `(${nameOf(each)})`)).join(', ');
  }

  /** The owner of a read-only transaction. */
  readerOf(id: TxId): string {
    const actor = [...this.actors.values()].find(({ client }) => id.startsWith(`${client.session.id}.`));
    return `ROT of ${actor?.name}`;
  }

  times(deps: Deps): string {
    return deps.map((ts) => this.time(ts)).join(', ');
  }

  /** The state of a session. */
  seen(seen: Deps): string {
    return this.#hasMatrices ? this.#matrix(seen) : this.times(seen);
  }

  /** The dependencies of a version. */
  deps(deps: Deps): string {
    if (!this.#hasMatrices) return this.times(deps);
    const replaced = deps[0] === 0 ? 'nothing' : this.time(deps[0]!);
    return `replaces ${replaced}${deps.length === 1 ? '' : `, depends on ${this.#matrix(deps.slice(1))}`}`;
  }

  /** Whether the dependencies are a dependency matrix. */
  get #hasMatrices(): boolean {
    return this.world.protocol.session === matrixSession;
  }

  #matrix(matrix: Deps): string {
    const { regions } = this.world.topology;
    const elements = elementsOf(matrix);
    return elements.map(({ partition, region, ts }) => `${partition}/${regions[region]} ${this.time(ts)}`).join(', ');
  }
}

type OperationCommand = (stage: OperationStage, words: Words) => readonly string[];

/** These commands, and those of every script. */
export const OPERATION_COMMANDS: Readonly<Record<string, OperationCommand>> = {
  ...SCENE_COMMANDS,

  session: (stage, words) => {
    const name = words.next('a name');
    if (Object.hasOwn(OPERATION_COMMANDS, name)) throw new ScriptError(`a session cannot be called ${name}`);
    words.take('at');
    const client = new OperationClient(stage.world, stage.running(words.next('a node')));
    stage.actors.set(name, { name, client, waiting: undefined });
    return [];
  },

  until: (stage, words) => {
    words.take('held');
    const count = numberOf(words.next('a number'));
    stage.world.until(() => stage.network.held >= count);
    return [];
  },

  await: (stage, words) => answerOf(stage, stage.actor(words.next('a session'))),

  release: (stage, words) => {
    const count = /^\d+$/.test(words.peek) ? numberOf(words.next('a number')) : Number.POSITIVE_INFINITY;
    return stage.network.release(patternOf(stage, words), count).map((envelope) => lineOf(stage, envelope));
  },

  show: (stage, words) =>
    OPERATION_SHOW[oneOfWords(words.next('what to show'), Object.keys(OPERATION_SHOW))]!(stage, words),
};

/** The arguments of `show`. */
export const OPERATION_SHOW: Readonly<Record<string, OperationCommand>> = {
  /** Versions of a key on each disk, newest first, with their dependencies. */
  versions: (stage, words) => {
    const key = stage.key(words.next('a key'));
    const partition = stage.world.topology.partitionOf(key);
    return [...stage.world.nodes.values()].flatMap(({ id, store }) => {
      if (!stage.world.topology.partitionsOn(id).includes(partition)) return [];
      const chain = store.chains.get(`${partition}|${key}`) ?? [];
      return [
        `${id}: ${chain.length === 0 ? 'no version' : chain.map((version) => versionLine(stage, version)).join('; ')}`,
      ];
    });
  },

  /** The state of a session. */
  seen: (stage, words) => {
    const { session } = stage.actor(words.next('a session')).client;
    const seen = session.seen.length === 0 ? 'nothing' : stage.seen(session.seen);
    const depends = session.depends.length === 0 ? [] : [`after ${stage.named(session.depends)}`];
    return [`${seen}, in ${session.region}`, ...depends];
  },

  /** The versions that each node has confirmed as installed in its region, or everywhere. */
  stable: (stage) =>
    [...stage.world.nodes.values()]
      .filter(({ up }) => up)
      .map(({ id, parts }) => `${id}: ${stage.times(parts.stabilization.state.regional.entries)}`),

  /** Waits of all nodes. */
  blocking: (stage) => {
    const { reads, puts, rots, ms } = blockedIn(stage.world);
    return [`reads ${reads}, PUTs ${puts}, ROTs ${rots}: ${ms} ms`];
  },

  /** Messages that have arrived at other nodes since the last look. */
  sent: (stage, words) => {
    const pattern = patternOf(stage, words);
    const fresh = stage.world.sent.slice(stage.shownMessages);
    stage.shownMessages = stage.world.sent.length;
    const lines = fresh.filter((envelope) => matches(pattern, envelope)).map((envelope) => lineOf(stage, envelope));
    return lines.length === 0 ? ['none'] : lines;
  },
};

/**
 * `c1 put x@0=X1`, `c1 get x@0`, `c1 rot x@0 y@1`, `c1 move oregon-1`; with `send` before the verb the answer is
 * awaited later.
 */
export const OPERATION_VERBS: Readonly<
  Record<string, (stage: OperationStage, actor: Actor, words: Words) => OperationBody>
> = {
  put: (stage, { client }, words) => {
    const [key, value] = words.next('a key and a value').split('=', 2) as [string, string];
    return client.session.put(stage.key(key), valueOfWord(value));
  },
  get: (stage, { client }, words) => client.session.get(stage.key(words.next('a key'))),
  rot: (stage, { client }, words) => client.session.rot(words.until().map((word) => stage.key(word))),
};

function sessionCommand(stage: OperationStage, words: Words): readonly string[] {
  const actor = stage.actor(words.next('a session'));
  if (words.take('move')) {
    actor.client.move(stage.running(words.next('a node')));
    return [];
  }
  const sendsOnly = words.take('send');
  const verb = oneOfWords(words.next(`what ${actor.name} does`), Object.keys(OPERATION_VERBS));
  const body = OPERATION_VERBS[verb]!(stage, actor, words);
  const { node } = actor.client;
  actor.waiting = { body, node, ref: stage.world.ask(node, body) };
  return sendsOnly ? [] : answerOf(stage, actor);
}

/** Runs until the session has its answer. */
function answerOf(stage: OperationStage, actor: Actor): string[] {
  const { waiting, client } = actor;
  if (waiting === undefined) throw new ScriptError(`${actor.name} waits for no answer`);
  const since = stage.elapsedMs;
  stage.world.until(() => stage.world.answer(waiting.node, waiting.ref) !== undefined);
  const answer = stage.world.answer(waiting.node, waiting.ref)!;
  actor.waiting = undefined;
  if (answer.type === 'Refused') client.session.refused();
  else client.session.answered(answer);
  return [`${answered(stage, waiting.body, answer)} (${stage.elapsedMs - since} ms)`];
}

function answered(stage: OperationStage, body: OperationBody, answer: OperationResponse): string {
  if (answer.type === 'Refused') return `refused: ${answer.code}`;
  if (answer.type === 'PutResp') return `written at ${stage.time(answer.ts)}`;
  const keys = body.type === 'RotReq' ? body.keys : body.type === 'GetReq' ? [body.key] : [];
  const versions = answer.type === 'RotResp' ? answer.versions : [answer.version];
  return keys.map((key, i) => `${stage.keyName(key)}=${wordOfValue(versions[i]?.value)}`).join(' ');
}

const versionLine = (stage: OperationStage, { value, ts, region, ...rest }: StoredVersion): string =>
  `${wordOfValue(value)} of ${region} at ${stage.time(ts)}${dependsLine(stage, rest)}`;

const dependsLine = (stage: OperationStage, { deps, depends }: Pick<StoredVersion, 'deps' | 'depends'>): string =>
  `${deps === undefined ? '' : ` [${stage.deps(deps)}]`}${depends === undefined ? '' : ` after ${stage.named(depends)}`}`;

/** A message with the fields that matter. */
function lineOf(stage: OperationStage, { from, to, message }: Envelope<OperationMessage>): string {
  const parts: string[] = [`${from.node} -> ${to.node} ${message.type}`];
  if ('partition' in message) parts.push(`partition ${message.partition}`);
  if ('key' in message) parts.push(stage.keyName(message.key));
  if ('keys' in message) parts.push(...message.keys.map((key) => stage.keyName(key)));
  if ('value' in message) parts.push(wordOfValue(message.value));
  if ('seen' in message && message.seen.length > 0) parts.push(`seen ${stage.seen(message.seen)}`);
  if ('snapshot' in message) parts.push(`in ${stage.times(message.snapshot)}`);
  if ('version' in message) parts.push(wordOfValue(message.version?.value));
  if (message.type === 'RotSliceResp')
    parts.push(message.versions.map((version) => wordOfValue(version?.value)).join(' '));
  if (message.type === 'PutSliceReq' && message.depends !== undefined)
    parts.push(`after ${stage.named(message.depends)}`);
  if (message.type === 'RotVersionsReq') {
    const { regions } = stage.world.topology;
    const asked = ([source = 0, ts = 0]: Deps) => `of ${regions[source]} at ${stage.time(ts)}`;
    parts.push(message.wanted.map(asked).join(', '));
  }
  if (message.type === 'ReadersCheckResp')
    parts.push(
      message.readers.map(({ id, at }) => `${stage.readerOf(id)} at ${stage.time(at)}`).join(', ') || 'no reader',
    );
  if ('upTo' in message) parts.push(`up to ${stage.time(message.upTo)}`);
  if ('ts' in message) parts.push(`at ${stage.time(message.ts)}`);
  if (message.type === 'Replicate') {
    for (const { ct, txs } of message.groups) {
      for (const { writes, ...rest } of txs) {
        const what = writes.map(({ key, value }) => `${stage.keyName(key)}=${wordOfValue(value)}`).join(' ');
        parts.push(`${what} at ${stage.time(ct)}${dependsLine(stage, rest)}`);
      }
    }
  }
  return parts.join(' ');
}

/** Begins a script of one of these protocols. */
export function operationLanguage(name: OperationName, options: ClusterOptions): Play {
  const { delays, world } = options.read(String(numberOf(options.peek('regions', '3'))));
  const scene = new OperationStage(new OperationWorld(OPERATION_PROTOCOLS[name].protocol, world), delays);
  return {
    scene,
    carryOut: (words) => {
      if (!Object.hasOwn(OPERATION_COMMANDS, words.peek)) return sessionCommand(scene, words);
      return OPERATION_COMMANDS[words.next('a command')]!(scene, words);
    },
  };
}

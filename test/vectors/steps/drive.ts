/** One trace: an application, a client machine and a cluster, on a simulated clock. */
import { exportCommits, exportWrites } from '@isochron/client/session/exported';
import { DEFAULT_TIMES } from '@isochron/client/times';
import type { Random } from '@isochron/core';
import { drawId } from '../drawing.js';
import { Application } from './application.js';
import type { Step, StepInput, StepSettings, StepTrace } from './format.js';
import { Network } from './network.js';
import type { StepProtocol } from './protocols.js';
import { Recorder } from './recorder.js';
import type { Theme } from './themes.js';

/** Pauses between the application's actions, ms. */
const PAUSES_MS = [0, 0, 0, 1, 5, 30, 200, 1500];
const MAX_STEPS = 400;
/** How long a program is stalled, ms. */
const STALLS_MS = [1200, 3000];

export class TraceDriver {
  readonly #random: Random;
  readonly #theme: Theme;
  readonly #network: Network;
  readonly #application: Application;
  readonly #recorder: Recorder;
  readonly #steps: Step[] = [];
  readonly #settings: StepSettings;
  readonly #beganMs: number;
  #nowMs: number;
  #timerMs = Number.POSITIVE_INFINITY;
  #nextActionMs = 0;
  #turnDue = false;
  #failedToConnect = false;

  /** @param index of the trace: the themes alternate */
  static trace(protocol: StepProtocol, index: number, random: Random, themes: readonly Theme[]): StepTrace {
    const theme = themes[index % themes.length]!;
    return new TraceDriver(protocol, theme, random).#trace(`${protocol.name}/${index}`, protocol);
  }

  private constructor(protocol: StepProtocol, theme: Theme, random: Random) {
    this.#random = random;
    this.#theme = theme;
    this.#network = new Network(protocol, theme, random);
    this.#application = new Application(protocol, theme, this.#network.cluster, random);
    this.#beganMs = random.pick([0, 1000.5, 86_400_000]);
    this.#nowMs = this.#beganMs;
    this.#settings = this.#drawSettings(protocol, theme);
    this.#recorder = new Recorder(this.#settings, this.#nowMs, {
      // Few digits: sums and products of them are exact.
      random: () => random.below(1024) / 1024,
      newId: () => drawId(random),
    });
  }

  #drawSettings({ kind, name }: StepProtocol, { expires }: Theme): StepSettings {
    const random = this.#random;
    const { cluster } = this.#network;
    const bases = cluster.nodes.map(({ base }) => base).slice(0, 1 + random.below(cluster.nodes.length));
    const endpoints = random.chance(0.1) ? [...bases, 'https://nowhere.test/'] : bases;
    const common = {
      endpoints,
      ...(expires ? { auth: true as const } : random.chance(0.3) ? { credentials: 'key' } : {}),
      times: {
        ...DEFAULT_TIMES,
        requestTimeoutMs: random.pick([800, 2000, 10_000]),
        connectTimeoutMs: random.pick([500, 3000]),
        commitTimeoutMs: random.pick([1000, 3000, 30_000]),
        returnAfterMs: random.pick([Number.POSITIVE_INFINITY, 200, 500, 500, 5000]),
      },
    };
    if (random.chance(0.3)) return { ...common, token: 'token-0' };
    if (random.chance(0.75)) return common;
    const { ust, deps, hwt, cache } = cluster.world.brought();
    const own = cluster.suspensions?.brought(ust, cache);
    const commits = own && { commits: exportCommits(own) };
    const state =
      kind === 'transactions'
        ? { ...(deps === undefined ? {} : { deps }), ust, hwt, writes: exportWrites(cache), ...commits }
        : { ust, hwt: 0, writes: [], seen: { seen: cluster.operations.read().seen, region: 'oregon' } };
    const protocol = random.chance(0.1) ? 'another' : name;
    const session = { version: 1, token: 'token-0', ...(protocol === 'paris' ? {} : { protocol }), ...state } as const;
    return { ...common, session };
  }

  #trace(name: string, protocol: StepProtocol): StepTrace {
    this.#step(this.#application.call({ f: 'connect' }));
    const actions = 15 + this.#random.below(40);
    for (let left = actions; left > 0 && this.#steps.length < MAX_STEPS && !this.#failedToConnect; ) {
      if (this.#advance()) continue;
      left--;
      this.#nextActionMs = this.#nowMs + this.#random.pick(PAUSES_MS);
      this.#act(protocol);
    }
    this.#end();
    return { name, at: this.#beganMs, settings: this.#settings, steps: this.#steps };
  }

  /** All troubles end; most clients are closed, and every call is settled. */
  #end(): void {
    if (this.#random.chance(0.6)) {
      this.#network.heal();
      this.#nextActionMs = this.#nowMs + 3000;
      while (this.#steps.length < 2 * MAX_STEPS && this.#advance());
    }
    this.#step({ do: 'export' });
    if (!this.#failedToConnect && this.#random.chance(0.2)) return;
    this.#step(this.#application.call({ f: 'close' }));
    this.#nextActionMs = Number.POSITIVE_INFINITY;
    // Sockets that were cut off close later.
    while (this.#advance());
    if (this.#recorder.waiting.length > 0) throw new TypeError('a closed client has left calls unsettled');
  }

  #act(protocol: StepProtocol): void {
    if (this.#recorder.machine.core.protocol === '' && this.#random.chance(0.8)) return;
    const action = this.#application.next(this.#recorder.waiting);
    if (action === 'report') this.#network.report(this.#nowMs);
    else if (action !== undefined) this.#step(action);
    // Time passes for the cluster, too.
    if (protocol.kind === 'operations' || this.#random.chance(0.5)) this.#network.cluster.times.pass();
  }

  /** Delivers the events that are due before the application's next action. Returns false if there is none. */
  #advance(): boolean {
    if (this.#turnDue && (this.#nextActionMs > this.#nowMs || this.#random.chance(0.5))) {
      this.#turnDue = false;
      this.#step({ do: 'turn' });
      return true;
    }
    const nextMs = Math.min(this.#network.nextMs, this.#timerMs);
    if (this.#turnDue || nextMs > this.#nextActionMs || nextMs === Number.POSITIVE_INFINITY) {
      if (Number.isFinite(this.#nextActionMs)) this.#nowMs = Math.max(this.#nowMs, this.#nextActionMs);
      return false;
    }
    const stallMs = this.#random.chance(this.#theme.stalls) ? this.#random.pick(STALLS_MS) : 0;
    this.#nowMs = Math.max(this.#nowMs, nextMs) + stallMs;
    if (this.#timerMs <= this.#network.nextMs || (this.#timerMs <= this.#nowMs && this.#random.chance(0.5))) {
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#step({ do: 'timer' });
      return true;
    }
    const arrival = this.#network.take();
    if (arrival !== undefined) this.#step(arrival);
    return true;
  }

  #step(input: StepInput): void {
    const step = this.#recorder.step(input, this.#nowMs);
    this.#steps.push(step);
    this.#application.observe(step.out);
    for (const effect of step.out) {
      switch (effect.do) {
        case 'open':
          this.#network.open(effect.socket, effect.url, this.#nowMs);
          break;
        case 'send':
          this.#network.send(effect.socket, effect.frames, this.#nowMs);
          break;
        case 'close':
          this.#network.close(effect.socket, effect.abrupt, this.#nowMs);
          break;
        case 'authenticate':
          this.#network.authenticate(this.#nowMs);
          break;
        case 'setTimer':
          this.#timerMs = effect.at ?? Number.POSITIVE_INFINITY;
          break;
        case 'turn':
          this.#turnDue = true;
          break;
        case 'reject':
          if (effect.caller === 1) this.#failedToConnect = true;
          break;
        default:
          break;
      }
    }
    const load = step.out.find((effect) => effect.do === 'load');
    if (load?.do === 'load') this.#loaded(load.protocol);
  }

  /** At once: the machine cannot observe a delay, except for inputs in between. */
  #loaded(protocol: string): void {
    if (this.#random.chance(0.02)) this.#step({ do: 'loaded', protocol, failed: 'NOT_SUPPORTED_BY_PROTOCOL' });
    else this.#step({ do: 'loaded', protocol });
  }
}

/**
 * V8's profiler in another process of this machine, over its inspector: the profile covers only the time between start
 * and stop.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { CpuProfile } from './cpu-profile.js';

/** Between two samples of a profile. */
const SAMPLING_INTERVAL_US = 500;

interface Answer {
  readonly id?: number;
  readonly result?: { readonly profile?: CpuProfile };
  readonly error?: { readonly message: string };
}

export class Inspector {
  #id = 0;

  private constructor(readonly socket: WebSocket) {}

  /** @param port of `--inspect` @throws Error if no process listens there */
  static async connect(port: number): Promise<Inspector> {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await answer.json()) as { readonly webSocketDebuggerUrl: string }[];
    if (target === undefined) throw new Error(`nothing can be profiled at port ${port}`);
    const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false });
    await once(socket, 'open');
    const inspector = new Inspector(socket);
    await inspector.#call('Profiler.enable');
    await inspector.#call('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US });
    return inspector;
  }

  async start(): Promise<void> {
    await this.#call('Profiler.start');
  }

  async stop(): Promise<CpuProfile> {
    const { profile } = await this.#call('Profiler.stop');
    if (profile === undefined) throw new Error('the inspector gave no profile');
    return profile;
  }

  close(): void {
    this.socket.terminate();
  }

  #call(method: string, params: object = {}): Promise<NonNullable<Answer['result']>> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      const settle = (settled: () => void): void => {
        this.socket.off('message', onMessage).off('close', onClose);
        settled();
      };
      const onMessage = (data: unknown): void => {
        const answer = JSON.parse(String(data)) as Answer;
        if (answer.id !== id) return;
        const { error, result = {} } = answer;
        settle(() => (error === undefined ? resolve(result) : reject(new Error(`${method}: ${error.message}`))));
      };
      const onClose = (): void => settle(() => reject(new Error(`${method}: the process has ended`)));
      this.socket.on('message', onMessage).on('close', onClose);
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }
}

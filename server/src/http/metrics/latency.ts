/** Request durations by route and status class, as a Prometheus histogram. Counting costs one array increment. */
const BUCKETS_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000] as const;

interface Series {
  readonly labels: string;
  readonly counts: Uint32Array;
  sumMs: number;
  count: number;
}

/** The series of one route. */
export class RouteLatency {
  readonly #classes: (Series | undefined)[] = [];

  constructor(
    readonly method: string,
    readonly route: string,
  ) {}

  observe(status: number, elapsedMs: number): void {
    const kind = Math.floor(status / 100);
    const series = this.#classes[kind] ?? this.#open(kind);
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && elapsedMs > BUCKETS_MS[bucket]!) bucket++;
    if (bucket < BUCKETS_MS.length) series.counts[bucket]!++;
    series.sumMs += elapsedMs;
    series.count++;
  }

  #open(kind: number): Series {
    const labels = `method="${this.method}",route="${this.route}",status="${kind}xx"`;
    const series = { labels, counts: new Uint32Array(BUCKETS_MS.length), sumMs: 0, count: 0 };
    this.#classes[kind] = series;
    return series;
  }

  lines(): string[] {
    return this.#classes.flatMap((series) => (series === undefined ? [] : seriesLines(series)));
  }
}

function seriesLines({ labels, counts, sumMs, count }: Series): string[] {
  let below = 0;
  const buckets = BUCKETS_MS.map((ms, i) => {
    below += counts[i]!;
    return `${NAME}_bucket{${labels},le="${ms / 1000}"} ${below}`;
  });
  return [
    ...buckets,
    `${NAME}_bucket{${labels},le="+Inf"} ${count}`,
    `${NAME}_sum{${labels}} ${sumMs / 1000}`,
    `${NAME}_count{${labels}} ${count}`,
  ];
}

const NAME = 'isochron_http_request_duration_seconds';

/** All routes of one API. */
export class HttpLatency {
  readonly #routes: RouteLatency[] = [];

  route(method: string, route: string): RouteLatency {
    const latency = new RouteLatency(method, route);
    this.#routes.push(latency);
    return latency;
  }

  /** In the Prometheus text format. */
  text(): string {
    const lines = this.#routes.flatMap((route) => route.lines());
    return [`# HELP ${NAME} Time to answer an HTTP request.`, `# TYPE ${NAME} histogram`, ...lines, ''].join('\n');
  }
}

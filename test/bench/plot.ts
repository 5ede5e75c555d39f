/** Plots as SVG, without a browser. */
import { init } from 'echarts';

export interface Series {
  readonly name: string;
  /** In the order of the line. */
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Number of a series whose colour this one shares; it is dashed, and has no name. */
  readonly dashedLike?: number;
}

export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly logarithmic?: boolean;
  readonly logarithmicX?: boolean;
  /** Whether points are drawn as dots. */
  readonly dots: boolean;
  readonly series: readonly Series[];
}

const SIZE = { width: 640, height: 400 };
const COLOURS = ['#0b6bcb', '#c7522a', '#4a7c3a', '#7b4fa3', '#8a6d00'];

/** The plot as the text of an SVG file. */
export function renderPlot({ title, x, y, logarithmic, logarithmicX, dots, series }: Plot): string {
  const named = series.filter(({ dashedLike }) => dashedLike === undefined);
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...SIZE });
  try {
    const axis = { nameLocation: 'middle', nameGap: 32 } as const;
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      color: COLOURS,
      title: { text: title, left: 'center', textStyle: { fontSize: 14 } },
      // The width of texts is estimated: without a margin names overlap.
      legend: { bottom: 0, itemGap: 28, data: named.map(({ name }) => name) },
      grid: { left: 72, right: 24, top: 40, bottom: 76 },
      xAxis: logarithmicX ? { ...axis, type: 'log', name: x } : { ...axis, type: 'value', name: x, min: 0 },
      yAxis: { ...axis, type: logarithmic ? 'log' : 'value', name: y, nameGap: 52 },
      series: series.map(({ name, points, dashedLike }, i) => ({
        type: 'line',
        name,
        data: points.map(([px, py]) => [px, py]),
        showSymbol: dots,
        symbolSize: 7,
        color: COLOURS[(dashedLike ?? i) % COLOURS.length]!,
        lineStyle: { type: dashedLike === undefined ? 'solid' : 'dashed' },
      })),
    });
    return `${still(chart.renderToSVGString())}\n`;
  } finally {
    chart.dispose();
  }
}

/** Removes the styles for pointers: a file needs none, and their names contain a counter that differs between plots. */
const still = (svg: string): string =>
  svg
    .replaceAll(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
    .replace(/<style >.*?<\/style>/s, '')
    .replaceAll(/\bzr\d+-/g, '');

/**
 * Delays between the ten regions of the PaRiS paper. It gives those of five; the others are estimated from the
 * distances.
 */
import { awsOneWayMs } from '@isochron/server';

/** In the paper's order: the first 3, 5 and 10 are its deployments. */
export const TEN_REGIONS = [
  'virginia',
  'oregon',
  'ireland',
  'mumbai',
  'sydney',
  'canada',
  'seoul',
  'frankfurt',
  'singapore',
  'ohio',
] as const;

const MEASURED = TEN_REGIONS.slice(0, 5);
const MEASURED_MS: Readonly<Record<string, number>> = awsOneWayMs(MEASURED);

/** Latitude and longitude, degrees. */
const PLACES: Readonly<Record<string, readonly [number, number]>> = {
  virginia: [38.9, -77.4],
  oregon: [45.8, -119.7],
  ireland: [53.3, -6.3],
  mumbai: [19.1, 72.9],
  sydney: [-33.9, 151.2],
  canada: [45.5, -73.6],
  seoul: [37.6, 127],
  frankfurt: [50.1, 8.7],
  singapore: [1.4, 103.8],
  ohio: [40, -83],
};

const EARTH_KM = 6_371;

/** Along the great circle, km. */
export function distanceKm(from: string, to: string): number {
  const [[a, x], [b, y]] = [from, to].map((region) => PLACES[region]!.map((degrees) => (degrees * Math.PI) / 180)) as [
    [number, number],
    [number, number],
  ];
  const h = Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin((y - x) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.sqrt(h));
}

/** ms for a km, from the measured delays: least squares through zero. */
function msPerKm(): number {
  let [product, square] = [0, 0];
  for (const from of MEASURED) {
    for (const to of MEASURED) {
      if (from === to) continue;
      const km = distanceKm(from, to);
      product += km * MEASURED_MS[`${from}>${to}`]!;
      square += km ** 2;
    }
  }
  return product / square;
}

const MS_PER_KM = msPerKm();

/** One way between two regions, ms. */
export const oneWayMs = (from: string, to: string): number =>
  MEASURED_MS[`${from}>${to}`] ?? Number((distanceKm(from, to) * MS_PER_KM).toFixed(3));

import { UsageError } from '../failures.js';
import { AWS_ROUND_TRIP_MS, awsOneWayMs } from './wan.js';

const REGIONS = Object.keys(AWS_ROUND_TRIP_MS);

describe('awsOneWayMs', () => {
  it('awsOneWayMs gives half of each measured round trip, by direction', () => {
    expect(awsOneWayMs(['virginia', 'oregon', 'ireland'])).toEqual({
      'virginia>oregon': 44.14,
      'virginia>ireland': 40.2,
      'oregon>virginia': 42.86,
      'oregon>ireland': 72.26,
      'ireland>virginia': 38.235,
      'ireland>oregon': 69.66,
    });
  });

  it('awsOneWayMs has every pair of the regions that were measured', () => {
    expect(Object.keys(awsOneWayMs(REGIONS))).toHaveLength(REGIONS.length * (REGIONS.length - 1));
    expect(Object.values(awsOneWayMs(REGIONS)).every((ms) => ms > 30 && ms < 160)).toBe(true);
  });

  it('awsOneWayMs refuses a region that was not measured, and names those that were', () => {
    expect(() => awsOneWayMs(['virginia', 'berlin'])).toThrow(UsageError);
    expect(() => awsOneWayMs(['virginia', 'berlin'])).toThrow(/"berlin".*ireland, mumbai, oregon, sydney, virginia/);
  });
});

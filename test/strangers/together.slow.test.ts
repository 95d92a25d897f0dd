/** Promise: honest callers are served while all attacks run at once (contract, section 5). */

import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { NO_SHIPMENT } from '../../src/outside/service/account.ts'
import { as, booking, cheapHash, folder, known, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { start } from '../command.ts'
import { basic } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { type Answer, agentOf, callFrom } from './call.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'

/*
 * Runs all attacks at once, from 50 addresses, while ten honest callers quote and book. Linux answers on all of 127.0.0.0/8.
 */

const ATTACKERS = join(import.meta.dirname, 'attackers.ts')
const ATTACK_SECONDS = size(2, 60)
const HONEST = 10
/** Honest callers whose credentials the gateway first sees during the attack. */
const NEW = 5
const PAUSE_MS = 10
const MOST_MEGABYTES = 256
const FEW_DESCRIPTORS = 40
/**
 * About 6 ms. With hashes of 80 ms and more, a busy machine may not give each of 50 sources a turn in the ten seconds that
 * calls wait.
 */
const HASH_COST = 11

const names = Array.from({ length: HONEST + NEW }, (_, i) => `honest-${i}`)

interface Honest {
  readonly name: string
  readonly authorization: string
}

/** Quotes and books as one caller, at least once and until it is over; returns the answers. */
async function quoteAndBook(
  { url }: GatewayProcess,
  { name, authorization }: Honest,
  round: string,
  isOver: () => boolean = () => true,
): Promise<readonly Answer[]> {
  const agent = agentOf(`127.0.1.${names.indexOf(name) + 1}`)
  const headers = { authorization }
  const answers: Answer[] = []
  for (let i = 0; i === 0 || !isOver(); i += 1) {
    const body = { ...quoteExample, ShipmentNumber: `Q-${round}-${i}`, OrderRefNumber: '' }
    answers.push(await callFrom(url, { path: '/getShippingQuote.php', headers, body, agent }))
    answers.push(await callFrom(url, { path: '/createShipment.php', headers, body: booking(`R-${round}-${i}`), agent }))
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  await agent.close()
  return answers
}

const failures = (answers: readonly Answer[]) =>
  answers.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`)

const MODES = {
  client: () => ({
    env: {},
    credentials: Object.fromEntries(names.map((name) => [name, `${name}-secret`])),
    honest: names.map((name) => ({ name, authorization: basic(name, `${name}-secret`) })),
    idUnderAttack: 'honest-0',
  }),
  tenants: () => {
    const place = folder()
    const path = join(place, 'tenants.json')
    const hash = (name: string) => cheapHash(`${name}-legacy-secret`, 'salt of the tenants', HASH_COST)
    const tenants = names.map((name) =>
      tenant(place, name, { credentials: [{ id: `${name}-legacy`, secret_hash: hash(name) }] }),
    )
    writeTenants(path, ...tenants)
    return {
      env: { TENANTS_FILE: path },
      credentials: known(...names),
      honest: names.map((name) => ({ name, ...as(name) })),
      idUnderAttack: 'honest-0-legacy',
    }
  },
} as const

test.each((WHOLE ? Object.keys(MODES) : ['tenants']) as (keyof typeof MODES)[])(
  'in %s mode, fifty attackers with all their means do not affect honest callers',
  async (mode) => {
    const { env, credentials, honest, idUnderAttack } = MODES[mode]()
    const gateway = await startGatewayProcess({ env, credentials })
    const [old, fresh] = [honest.slice(0, HONEST), honest.slice(HONEST)]

    // The first call of each proves its credential.
    const first = (await Promise.all(old.map((one) => quoteAndBook(gateway, one, 'first')))).flat()
    expect(failures(first)).toEqual([])
    const before = gateway.measure()
    const heard = gateway.sandbox.requests.length

    let isOver = false
    const words = [ATTACKERS, gateway.url, String(ATTACK_SECONDS), idUnderAttack]
    const attackers = start(process.execPath, words)
    const attack = attackers.ended.finally(() => {
      isOver = true
    })
    const underAttack = (one: Honest) => quoteAndBook(gateway, one, 'attack', () => isOver)
    const calling = old.map(underAttack)
    await attackers.says(/begun/)
    const newcomers = fresh.map(underAttack)
    const answers = (await Promise.all([...calling, ...newcomers])).flat()
    const statuses: Readonly<Record<string, number>> = JSON.parse((await attack).out.replace('begun', ''))

    expect(failures(answers)).toEqual([])
    expect(answers.length).toBeGreaterThan(2 * honest.length)
    // Every attacker was refused, with a status that says why.
    const refused = Object.keys(statuses).filter((status) => !/^(\w+ closed|\w+ (401|429|503|0))$/.test(status))
    expect(refused).toEqual([])
    expect(gateway.measure().peakMegabytes).toBeLessThan(MOST_MEGABYTES)
    await vi.waitFor(
      () => expect(gateway.measure().descriptors).toBeLessThan(before.descriptors + FEW_DESCRIPTORS),
      10_000,
    )

    // The only requests of strangers at the service are the reads that prove a credential.
    const trusted = new Set(Object.entries(credentials).map(([id, secret]) => basic(id, secret)))
    const ofStrangers = gateway.sandbox.requests
      .slice(heard)
      .filter(({ headers }) => !trusted.has(String(headers['authorization'])))
    expect(
      ofStrangers.filter(({ method, path }) => `${method} ${path}` !== `GET /v2/shipments/${NO_SHIPMENT}`),
    ).toEqual([])
    const called = Object.values(statuses).reduce((sum, times) => sum + times, 0)
    expect(ofStrangers.length).toBeLessThanOrEqual(mode === 'client' ? called : 0)

    const booked = [...first, ...answers].length / 2
    const { claims, links } = await gateway.stop()
    expect(claims.filter(({ state, tenant: owner }) => state !== 'booked' || !names.includes(owner))).toEqual([])
    expect(claims).toHaveLength(booked)
    expect(gateway.sandbox.shipments.size).toBe(booked)
    expect(links.filter(({ tenant: owner }) => !names.includes(owner))).toEqual([])
  },
  ATTACK_SECONDS * 1_000 + 60_000,
)
